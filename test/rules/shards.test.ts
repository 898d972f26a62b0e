/** Every table has a place on a sharded database, and a run finds the statements that name no server and have no reason. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { readMigrations } from '../../src/store/migrate.ts'
import { placements } from '../support/placements.ts'
import { planScale, staysInGroup } from '../../src/store/postgres/scale.ts'
import { readSchema } from '../../src/store/schema-text.ts'
import { judgeStatements, statementsOf } from '../support/statement-judge.ts'
import type { StatementRecord } from '../support/statement-records.ts'
import { unplacedTables } from '../support/unplaced-statements.ts'

const tables = readSchema(readMigrations())

/** Foreign keys that `troupe scale init` removes. Each row says how its rows end on a sharded database. */
const removedKeys: Readonly<Record<string, string>> = {
  'property_lookup → actor': 'deleted by value, from actor_lookup (actor/remote-rows.ts)',
  'identity → account': 'deleted by name, from the account (actor/remote-rows.ts)',
  'password_access → actor': 'deleted by name, from the creator (actor/remote-rows.ts)',
  'oauth_client → actor': 'deleted behind the response (authorization-server/deleted-owners.ts)',
  'trust → oauth_client': 'deleted before the client (authorization-server/client-ends.ts)',
  'token → token_chain': 'deleted with the actor; otherwise it stays until it expires, not valid without its chain',
  'one_time → actor': 'deleted behind the response (authorization-server/deleted-owners.ts)',
}

describe('the tables of a sharded database', () => {
  it('have a place each', () => {
    assert.deepEqual(
      Object.keys(placements).toSorted(),
      [...tables.map(({ name }) => name), 'schema_migrations'].toSorted(),
    )
  })

  it('are all placed by troupe scale init', async () => {
    const client = {
      database: 'notes',
      escapeIdentifier: (name: string) => name,
      escapeLiteral: (text: string) => text,
      // A database with the extension, whose tables are on one server.
      query: async (sql: string) => ({ rows: [], rowCount: sql.includes('pg_extension') ? 1 : 0 }),
    } as unknown as pg.Client
    const steps = await planScale(client, { migrations: readMigrations(), placements, schema: 'troupe', shards: 4 })
    const placed = steps.flatMap(({ title }) => /^(?:Distribute|Copy) (\w+) (?:by|to) /.exec(title)?.[1] ?? [])
    assert.deepEqual(placed.toSorted(), Object.keys(placements).toSorted())
  })

  for (const { name, columns, primaryKey, uniqueIndexes } of tables) {
    it(`contain the column of their place in each key: ${name}`, () => {
      const place = placements[name]
      if (place?.kind !== 'distributed') return
      assert.ok(columns.includes(place.column))
      assert.ok(primaryKey.includes(place.column), `the primary key is ${primaryKey.join(', ')}`)
      for (const index of uniqueIndexes)
        assert.ok(index.includes(place.column), `a unique index is ${index.join(', ')}`)
    })
  }

  it('have foreign keys within one place, besides seven that troupe scale init removes', () => {
    const crossing = tables.flatMap(({ name, foreignKeys }) =>
      foreignKeys.filter((key) => !staysInGroup(placements, name, key)).map((key) => `${name} → ${key.table}`),
    )
    assert.deepEqual(crossing.toSorted(), Object.keys(removedKeys).toSorted())
  })
})

describe('the statements that tests execute', () => {
  for (const [shape, unplaced] of [
    ['SELECT name FROM property WHERE actor_id = $', []],
    ['SELECT name FROM property WHERE name = $', ['property']],
    ['SELECT p.name FROM property p JOIN trust t ON t.actor_id = p.actor_id WHERE t.actor_id = $', []],
    ['SELECT t.hash FROM token t JOIN token_chain c ON c.chain_id = t.chain_id WHERE t.hash = $', ['token_chain']],
    ['INSERT INTO property (actor_id, name) VALUES ($, …)', []],
    ['INSERT INTO property (actor_id, name) SELECT $, r.name FROM rows($, name TEXT) AS r', []],
    [
      'INSERT INTO property (actor_id, name) SELECT r.actor, r.name FROM rows($, actor TEXT, name TEXT) AS r',
      ['property'],
    ],
    ['UPDATE notice SET due_at = $ WHERE sender = $', []],
    ['SELECT client_id FROM oauth_client WHERE client_id = ANY($::text[])', []],
    ['SELECT client_id FROM token_chain WHERE client_id = $', ['token_chain']],
    ['DELETE FROM notice WHERE id = $', ['notice']],
    ['SELECT value FROM setting WHERE name = $', []],
  ] as const) {
    it(`are judged by the keys that they name: ${shape}`, () => {
      assert.deepEqual(unplacedTables(shape), unplaced)
    })
  }

  const placed = 'SELECT name FROM property WHERE actor_id = $'
  const scattered = 'SELECT name FROM property WHERE name = $'
  const swept = '/* jobs */ SELECT kind FROM job WHERE due_at < $'
  const plain = 'DELETE FROM token WHERE hash IN (SELECT hash FROM rows($, hash TEXT) AS gone)'
  const sources = statementsOf([placed, scattered, swept, plain].map((sql) => `const sql = '${sql}'`))
  const exceptions = [
    { reason: 'finds due work', statements: [/^\/\* jobs \*\/ SELECT kind/] },
    { reason: 'runs on a plain database only', statements: ['DELETE FROM token WHERE hash IN'] },
  ]
  const record = (shape: string, given: Partial<StatementRecord> = {}): StatementRecord => ({
    file: 'test/contracts/list.test.ts',
    dialect: 'postgres',
    caller: 'creator',
    test: 'on PostgreSQL',
    shape,
    ...given,
  })
  const judge = (...records: StatementRecord[]): string[] => judgeStatements(records, sources, exceptions)
  /** The faults of a run that also executes the listed statements. */
  const faults = (...records: StatementRecord[]): string[] => judge(record(swept), record(plain), ...records)

  it('have no fault when each names its server or has a reason', () => {
    assert.deepEqual(faults(record(placed)), [])
  })

  it('need a reason without a server', () => {
    assert.deepEqual(faults(record(scattered)), [`The statement names no server of a sharded database: ${scattered}`])
  })

  it('are judged only when they are statements of the service', () => {
    assert.deepEqual(faults(record('SELECT * FROM property')), [])
  })

  it('are listed only while a test executes them', () => {
    assert.deepEqual(judge(record(swept)), [
      'No test executes the listed statement DELETE FROM token WHERE hash IN, or it names its server: remove it from the list',
    ])
  })

  it('run on PostgreSQL when they run on SQLite', () => {
    const onSqlite = record(placed, { dialect: 'sqlite', test: 'on SQLite' })
    assert.deepEqual(faults(onSqlite), [`No test executes on PostgreSQL, as on SQLite: ${placed}`])
    assert.deepEqual(faults(onSqlite, record(placed)), [])
  })
})
