/** The checker of the invariants finds damage of every kind that it looks for. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { startService } from '../support/service.ts'
import { violationsIn } from '../support/invariants.ts'
import { declareLoadActions } from '../support/load-app.ts'
import { Load } from '../support/load.ts'
import { senderInProcess } from '../support/service-process.ts'
import { createTestDatabase, forEachStore, type TestDatabase } from '../support/stores.ts'

/** Runs statements that the service would never run, past every foreign key. */
async function damage(url: string, ...statements: readonly string[]): Promise<void> {
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length), { enableForeignKeyConstraints: false })
    for (const statement of statements) database.exec(statement)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('SET session_replication_role = replica')
  for (const statement of statements) await client.query(statement)
  await client.end()
}

/** Two actors `a` and `b` with a value, an indexed one and a list of three items each, as the service makes them. */
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
    'a value of no actor',
    [`INSERT INTO property VALUES ('x', 'n', 'value', '1', '', NULL)`],
    /^I8: property has rows of actor x,/,
  ],
  [
    'an attribute of no actor',
    [`INSERT INTO attribute VALUES ('x', 'b', 'n', '1', 1)`],
    /^I8: attribute has rows of actor x,/,
  ],
  [
    'an item of no actor',
    [`INSERT INTO list_item VALUES ('x', 'l', 1, 1, '1', '', NULL)`],
    /^I8: list_item has rows of actor x,/,
  ],
  ['a node of no actor', [`INSERT INTO list_node VALUES ('x', 'l', 1, '[]')`], /^I8: list_node has rows of actor x,/],
  [
    'a look-up entry of no actor',
    [`INSERT INTO property_lookup VALUES ('email', 'v', 'x')`],
    /^I8: property_lookup has rows of actor x,/,
  ],
  [
    'a claimed creator of no actor',
    [`INSERT INTO unique_creator VALUES ('c', 'x')`],
    /^I8: unique_creator has rows of actor x,/,
  ],
  ['an actor that went without its rows', [`DELETE FROM actor WHERE id = 'a'`], /^I8: property has rows of actor a,/],
  [
    'an item of a list that is a value',
    [`INSERT INTO list_item VALUES ('a', 'color', 1, 1, '1', '', NULL)`],
    /^I8: list_item has rows of list a\/color,/,
  ],
  [
    'a list that went without its items',
    [
      `DELETE FROM property WHERE ${head}`,
      `INSERT INTO list_item VALUES ('a', 'notes', 1, 1, '1', '', NULL) ON CONFLICT DO NOTHING`,
    ],
    /^I8: list_item has rows of list a\/notes,/,
  ],
  [
    'a look-up entry for a value that changed',
    [`UPDATE property SET value = '"c@example.com"' WHERE actor_id = 'a' AND name = 'email'`],
    /^I8: the look-up leads from email=a@example\.com to actor a, which holds c@example\.com$/,
  ],
  [
    'a look-up entry for a value that went',
    [`DELETE FROM property WHERE actor_id = 'a' AND name = 'email'`],
    /^I8: the look-up leads from email=a@example\.com to actor a, which holds nothing of the kind$/,
  ],
  [
    'a look-up entry for another actor',
    [`UPDATE property_lookup SET actor_id = 'b' WHERE value = 'a@example.com'`],
    /^I8: the look-up leads from email=a@example\.com to actor b,/,
  ],
  [
    'a value that the look-up does not know',
    [`DELETE FROM property_lookup WHERE actor_id = 'a'`],
    /^I2: the look-up does not know \["a","email"\]=a@example\.com$/,
  ],
  [
    'a claim for another creator',
    [`INSERT INTO unique_creator VALUES ('c', 'a')`],
    /^I8: c is claimed for actor a, whose creator it is not$/,
  ],
  [
    'a head that cannot be read',
    [`UPDATE property SET value = '{' WHERE ${head}`],
    /^I5: list a\/notes: its head cannot be read$/,
  ],
  [
    'an item that is missing',
    [`DELETE FROM list_item WHERE ${notes} AND item = 1`],
    /^I5: list a\/notes: item 1 is missing, or stands at two places$/,
  ],
  [
    'an item outside the order',
    [`INSERT INTO list_item VALUES ('a', 'notes', 9, 1, '1', '', NULL)`],
    /^I5: list a\/notes: item 9 stands outside the order$/,
  ],
  [
    'an item at two places',
    [`UPDATE list_node SET entries = '[1,1,3]' WHERE ${notes} AND entries = '[1,2,3]'`],
    /^I5: list a\/notes: item 1 is missing, or stands at two places$/,
  ],
  [
    'an item number that comes again',
    [`UPDATE property SET value = replace(value, '"next_item":4', '"next_item":3') WHERE ${head}`],
    /^I5: list a\/notes: item 3 was never given out$/,
  ],
  [
    'a node that is missing',
    [`DELETE FROM list_node WHERE ${notes} AND entries = '[1,2,3]'`],
    /^I5: list a\/notes: node \d is missing, or stands at two places$/,
  ],
  [
    'a node outside the order',
    [`INSERT INTO list_node VALUES ('a', 'notes', 9, '[]')`],
    /^I5: list a\/notes: node 9 stands outside the order$/,
  ],
  [
    'a node number that comes again',
    [`UPDATE property SET value = replace(value, '"next_node":3', '"next_node":2') WHERE ${head}`],
    /^I5: list a\/notes: node 2 was never given out$/,
  ],
  [
    'a count that is wrong',
    [
      `UPDATE list_node SET entries = '[1,2]' WHERE ${notes} AND entries = '[1,2,3]'`,
      `DELETE FROM list_item WHERE ${notes} AND item = 3`,
    ],
    /^I5: list a\/notes: leaf \d holds 2 items where 3 belong$/,
  ],
]

describe('the checker of the invariants', () => {
  forEachStore((dialect, _open, database) => {
    it('finds nothing in a database that the service alone has written', async () => {
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
      it('finds a row that no longer has the row it belongs to', async () => {
        const made = await database()
        await fill(made)
        await damage(made.url, `DELETE FROM actor WHERE id = 'a'`)
        assert.ok((await violationsIn(made.url)).includes('a row of property has no row of actor to belong to'))
      })

      it('finds an index that no longer fits its table', async () => {
        const made = await database()
        await fill(made)
        await damage(
          made.url,
          `UPDATE actor SET creator = 'needle-in-the-file' WHERE id = 'a'`,
          'PRAGMA wal_checkpoint(TRUNCATE)',
        )
        const path = made.url.slice('sqlite:'.length)
        const bytes = readFileSync(path)
        // The row and its index entry hold the text; one of them is changed.
        bytes[bytes.lastIndexOf('needle-in-the-file')] = 'N'.charCodeAt(0)
        writeFileSync(path, bytes)
        assert.match((await violationsIn(made.url)).join('\n'), /row \d+ missing from index actor_by_creator/)
      })
    }
  })
})

describe('a history under load, of which the database keeps something else', () => {
  let database: TestDatabase
  before(async () => {
    database = await createTestDatabase('sqlite')
  })
  after(() => database.remove())

  /** Some load, then the damage, then what the last reading shows. */
  async function failuresAfter(...statements: readonly string[]): Promise<string> {
    const service = await startService(database.url, { declare: declareLoadActions })
    const send = senderInProcess(service.app.fetch)
    const load = new Load(7)
    await load.prepare(send)
    await load.run({ clients: 4, services: [send], goesOn: (requests) => requests < 150 })
    await damage(database.url, ...statements)
    await load.readAll(send)
    await service.close()
    return load.history.failures().join('\n')
  }

  it('I1 I2 I5 passes when nothing was damaged', async () => {
    assert.equal(await failuresAfter(), '')
  })

  it('I1 tells of a property that went', async () => {
    assert.match(
      await failuresAfter(`DELETE FROM property WHERE name IN ('r0', 'r1')`),
      /\/r\d: no serial order explains/,
    )
  })

  it('I1 tells of a key that went', async () => {
    assert.match(
      await failuresAfter(`UPDATE property SET value = '{}', checksum = NULL WHERE name = 'doc'`),
      /\/doc\/\S+: no serial order explains/,
    )
  })

  it('I2 tells of a change that was made in part', async () => {
    assert.match(
      await failuresAfter(`UPDATE property SET value = '"other"', checksum = NULL WHERE name = 'g2'`),
      /\/group: .*torn: /,
    )
  })

  it('I5 tells of an item that was changed', async () => {
    assert.match(
      await failuresAfter(`UPDATE list_item SET value = '{"t":"other"}', checksum = NULL WHERE list = 'log'`),
      /\/log: no serial order explains/,
    )
  })

  it('I1 I8 tells of an actor that went', async () => {
    assert.match(
      await failuresAfter('PRAGMA foreign_keys = ON', `DELETE FROM actor WHERE creator LIKE 'c%'`),
      /passing \w+: no serial order explains/,
    )
  })
})
