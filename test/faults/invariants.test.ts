/** Verifies that the checker of the invariants finds each kind of damage. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { onShards } from '../support/citus.ts'
import { startService } from '../support/service.ts'
import { violationsIn } from '../support/invariants.ts'
import { declareLoadActions } from '../support/load-app.ts'
import { Load } from '../support/load.ts'
import { senderInProcess } from '../support/service-process.ts'
import { createTestDatabase, forEachStore, type TestDatabase } from '../support/stores.ts'

/** Runs statements without foreign key checks, which the service never does. */
async function damage(url: string, ...statements: readonly string[]): Promise<void> {
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length), { enableForeignKeyConstraints: false })
    for (const statement of statements) database.exec(statement)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: url, options: '-c search_path=troupe' })
  await client.connect()
  // A sharded database checks foreign keys at the workers, which receive only the settings of a transaction.
  await client.query('BEGIN')
  if (onShards()) await client.query("SET LOCAL citus.propagate_set_commands = 'local'")
  await client.query('SET LOCAL session_replication_role = replica')
  for (const statement of statements) await client.query(statement)
  await client.query('COMMIT')
  await client.end()
}

/** Creates actors `a` and `b`, each with a value, an indexed value and a list of three items. */
async function fill(database: TestDatabase): Promise<void> {
  const { url } = database
  const service = await startService(url)
  for (const id of ['a', 'b']) {
    const { actor } = await service.app.actors.create({ id, creator: `${id}@example.com` })
    await actor.set('color', 'red')
    await actor.set('email', `${id}@example.com`)
    await actor.list('notes').extend(['one', 'two', 'three'])
  }
  await service.close()
}

const notes = `actor_id = 'a' AND list = 'notes'`
const head = `actor_id = 'a' AND name = 'notes'`

const kinds: readonly (readonly [what: string, statements: readonly string[], found: RegExp])[] = [
  [
    'a value without an actor',
    [`INSERT INTO property VALUES ('x', 'n', 'value', '', NULL, 1, '1')`],
    /^I8: property has rows of actor x,/,
  ],
  [
    'an attribute without an actor',
    [`INSERT INTO attribute VALUES ('x', 'b', 'n', 1, '1')`],
    /^I8: attribute has rows of actor x,/,
  ],
  [
    'an item without an actor',
    [`INSERT INTO list_item VALUES ('x', 'l', 1, 1, '', NULL, 1, '1')`],
    /^I8: list_item has rows of actor x,/,
  ],
  [
    'a node without an actor',
    [`INSERT INTO list_node VALUES ('x', 'l', 1, '[]')`],
    /^I8: list_node has rows of actor x,/,
  ],
  [
    'an index entry without an actor',
    [`INSERT INTO property_lookup VALUES ('email', 'v', 'x')`],
    /^I8: property_lookup has rows of actor x,/,
  ],
  ['a creator without an actor', [`INSERT INTO creator VALUES ('c', 'x', 1)`], /^I8: creator has rows of actor x,/],
  ['an actor deleted without its rows', [`DELETE FROM actor WHERE id = 'a'`], /^I8: property has rows of actor a,/],
  [
    'an item of a property that is not a list',
    [`INSERT INTO list_item VALUES ('a', 'color', 1, 1, '', NULL, 1, '1')`],
    /^I8: list_item has rows of list a\/color,/,
  ],
  [
    'a list deleted without its items',
    [
      `DELETE FROM property WHERE ${head}`,
      `INSERT INTO list_item VALUES ('a', 'notes', 1, 1, '', NULL, 1, '1') ON CONFLICT DO NOTHING`,
    ],
    /^I8: list_item has rows of list a\/notes,/,
  ],
  [
    'an index entry for a changed value',
    [`UPDATE property SET value = '"c@example.com"' WHERE actor_id = 'a' AND name = 'email'`],
    /^I8: the lookup maps email=a@example\.com to actor a, which has c@example\.com$/,
  ],
  [
    'an index entry for a deleted value',
    [`DELETE FROM property WHERE actor_id = 'a' AND name = 'email'`],
    /^I8: the lookup maps email=a@example\.com to actor a, which has no such value$/,
  ],
  [
    'an index entry for another actor',
    [`UPDATE property_lookup SET actor_id = 'b' WHERE value = 'a@example.com'`],
    /^I8: the lookup maps email=a@example\.com to actor b,/,
  ],
  [
    'a value without an index entry',
    [`DELETE FROM property_lookup WHERE actor_id = 'a'`],
    /^I2: the lookup does not contain \["a","email"\]=a@example\.com$/,
  ],
  [
    'a creator that differs from the actor’s creator',
    [`INSERT INTO creator VALUES ('c', 'a', 1)`],
    /^I8: creator c finds actor a, which has another creator$/,
  ],
  [
    'an actor that its creator does not find',
    [`DELETE FROM creator WHERE actor_id = 'a'`],
    /^I2: creator a@example\.com does not find its actor a$/,
  ],
  [
    'an unreadable list head',
    [`UPDATE property SET value = '{' WHERE ${head}`],
    /^I5: list a\/notes: its head cannot be read$/,
  ],
  [
    'a missing item',
    [`DELETE FROM list_item WHERE ${notes} AND item = 1`],
    /^I5: list a\/notes: item 1 is missing or occurs twice$/,
  ],
  [
    'an item outside the order',
    [`INSERT INTO list_item VALUES ('a', 'notes', 9, 1, '', NULL, 1, '1')`],
    /^I5: list a\/notes: item 9 is not in the order$/,
  ],
  [
    'a duplicate item',
    [`UPDATE list_node SET entries = '[1,1,3]' WHERE ${notes} AND entries = '[1,2,3]'`],
    /^I5: list a\/notes: item 1 is missing or occurs twice$/,
  ],
  [
    'a reused item number',
    [`UPDATE property SET value = replace(value, '"next_item":4', '"next_item":3') WHERE ${head}`],
    /^I5: list a\/notes: item 3 was never allocated$/,
  ],
  [
    'a missing node',
    [`DELETE FROM list_node WHERE ${notes} AND entries = '[1,2,3]'`],
    /^I5: list a\/notes: node \d is missing or occurs twice$/,
  ],
  [
    'a node outside the order',
    [`INSERT INTO list_node VALUES ('a', 'notes', 9, '[]')`],
    /^I5: list a\/notes: node 9 is not in the order$/,
  ],
  [
    'a reused node number',
    [`UPDATE property SET value = replace(value, '"next_node":3', '"next_node":2') WHERE ${head}`],
    /^I5: list a\/notes: node 2 was never allocated$/,
  ],
  [
    'a wrong count',
    [
      `UPDATE list_node SET entries = '[1,2]' WHERE ${notes} AND entries = '[1,2,3]'`,
      `DELETE FROM list_item WHERE ${notes} AND item = 3`,
    ],
    /^I5: list a\/notes: leaf \d holds 2 items instead of 3$/,
  ],
]

describe('the checker of the invariants', () => {
  forEachStore((dialect, _open, database) => {
    it('finds nothing in a database that only the service has written', async () => {
      const made = await database()
      await fill(made)
      assert.deepEqual(await violationsIn(made.url), [])
    })

    for (const [what, statements, expected] of kinds)
      it(`finds ${what}`, async () => {
        const made = await database()
        await fill(made)
        await damage(made.url, ...statements)
        const found = await violationsIn(made.url)
        assert.ok(
          found.some((line) => expected.test(line)),
          `found only: ${found.join('\n')}`,
        )
      })

    if (dialect === 'sqlite') {
      it('finds a row whose parent row was deleted', async () => {
        const made = await database()
        await fill(made)
        await damage(made.url, `DELETE FROM actor WHERE id = 'a'`)
        assert.ok((await violationsIn(made.url)).includes('a row of property references a missing row of actor'))
      })

      it('finds an index that differs from its table', async () => {
        const made = await database()
        await fill(made)
        await damage(
          made.url,
          `UPDATE property_lookup SET value = 'needle-in-the-file' WHERE actor_id = 'a'`,
          'PRAGMA wal_checkpoint(TRUNCATE)',
        )
        const path = made.url.slice('sqlite:'.length)
        const bytes = readFileSync(path)
        // The row and its index entry both hold the string. Only the later copy is changed.
        bytes[bytes.lastIndexOf('needle-in-the-file')] = 'N'.charCodeAt(0)
        writeFileSync(path, bytes)
        assert.match((await violationsIn(made.url)).join('\n'), /row \d+ missing from index property_lookup_by_actor/)
      })
    }
  })
})

describe('the history of a load on a damaged database', () => {
  let database: TestDatabase
  before(async () => {
    database = await createTestDatabase('sqlite')
  })
  after(() => database.remove())

  /** Runs a load, applies the damage and returns the failures that the last reading shows. */
  async function failuresAfter(...statements: readonly string[]): Promise<string> {
    const service = await startService(database.url, { declare: declareLoadActions })
    const send = senderInProcess(service.app.fetch)
    const load = new Load(7)
    await load.prepare(send)
    await load.run({ clients: 4, services: [send], goesOn: (requests) => requests < 150 })
    await service.close()
    await damage(database.url, ...statements)
    // A service that has read the lists before would answer from memory.
    const restarted = await startService(database.url, { declare: declareLoadActions })
    await load.readAll(senderInProcess(restarted.app.fetch))
    await restarted.close()
    return load.history.failures().join('\n')
  }

  it('has no failures without damage (I1, I2, I5)', async () => {
    assert.equal(await failuresAfter(), '')
  })

  it('reports a deleted property (I1)', async () => {
    assert.match(
      await failuresAfter(`DELETE FROM property WHERE name IN ('r0', 'r1')`),
      /\/r\d: no serial order explains/,
    )
  })

  it('reports a deleted key (I1)', async () => {
    assert.match(
      await failuresAfter(`UPDATE property SET value = '{}', checksum = NULL WHERE name = 'doc'`),
      /\/doc\/\S+: no serial order explains/,
    )
  })

  it('reports a partial change (I2)', async () => {
    assert.match(
      await failuresAfter(`UPDATE property SET value = '"other"', checksum = NULL WHERE name = 'g2'`),
      /\/group: .*torn: /,
    )
  })

  it('reports a changed item (I5)', async () => {
    assert.match(
      await failuresAfter(`UPDATE list_item SET value = '{"t":"other"}', checksum = NULL WHERE list = 'log'`),
      /\/log: no serial order explains/,
    )
  })

  it('reports a deleted actor (I1, I8)', async () => {
    assert.match(
      await failuresAfter('PRAGMA foreign_keys = ON', `DELETE FROM actor WHERE creator LIKE 'c%'`),
      /passing \w+: no serial order explains/,
    )
  })
})
