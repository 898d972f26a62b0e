import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readMigrations } from '../../src/store/migrate.ts'
import { compile } from '../../src/store/portable.ts'
import { StatementCache, TABLES_APART } from '../../src/store/postgres/statement-cache.ts'
import { readSchema } from '../../src/store/schema-text.ts'
import { busyDelayMs } from '../../src/store/sqlite/busy.ts'
import { refuseSqliteVersion } from '../../src/store/sqlite/version.ts'

describe('one SQL statement for two databases', () => {
  const cases: readonly { sql: string; sqlite: string; postgres: string; parameters: number }[] = [
    {
      sql: 'SELECT a FROM t WHERE b = $1 AND c = $2 OR d = $1',
      sqlite: 'SELECT a FROM t WHERE b = ?1 AND c = ?2 OR d = ?1',
      postgres: 'SELECT a FROM t WHERE b = $1 AND c = $2 OR d = $1',
      parameters: 2,
    },
    {
      sql: 'SELECT r.item FROM rows($3, item BIGINT, value TEXT) AS r WHERE $1 = $2',
      sqlite:
        "SELECT r.item FROM (SELECT value->>'$[0]' AS item, value->>'$[1]' AS value FROM json_each(?3)) AS r WHERE ?1 = ?2",
      postgres:
        'SELECT r.item FROM (SELECT (item->>0)::BIGINT AS item, (item->>1) COLLATE "C" AS value FROM jsonb_array_elements($3::jsonb) AS elements (item)) AS r WHERE $1 = $2',
      parameters: 3,
    },
    {
      sql: 'SELECT id FROM actor WHERE id = $1 /*postgres: FOR UPDATE */',
      sqlite: 'SELECT id FROM actor WHERE id = ?1 ',
      postgres: 'SELECT id FROM actor WHERE id = $1 FOR UPDATE',
      parameters: 1,
    },
    {
      sql: 'CREATE TABLE t (n BIGINT, k TEXT_KEY NOT NULL) STRICT, WITHOUT ROWID;',
      sqlite: 'CREATE TABLE t (n INTEGER, k TEXT NOT NULL) STRICT, WITHOUT ROWID;',
      postgres: 'CREATE TABLE t (n BIGINT, k TEXT COLLATE "C" NOT NULL);',
      parameters: 0,
    },
    {
      sql: 'CREATE TABLE t (n TEXT)\n  STRICT,\tWITHOUT ROWID\n ; CREATE TABLE u (n TEXT)  STRICT\n',
      sqlite: 'CREATE TABLE t (n TEXT)\n  STRICT,\tWITHOUT ROWID\n ; CREATE TABLE u (n TEXT)  STRICT\n',
      postgres: 'CREATE TABLE t (n TEXT)\n ; CREATE TABLE u (n TEXT)\n',
      parameters: 0,
    },
    {
      sql: 'SELECT 1 /*sqlite: WHERE CAST($1 AS BIGINT) = 1 */ /*postgres: WHERE $1::BIGINT = 1 */',
      sqlite: 'SELECT 1 WHERE CAST(?1 AS INTEGER) = 1 ',
      postgres: 'SELECT 1  WHERE $1::BIGINT = 1',
      parameters: 1,
    },
    {
      sql: `SELECT '$1 BIGINT it''s rows($2, a TEXT)', "BIGINT $3" -- $4 BIGINT\nFROM t /* $5 BIGINT */`,
      sqlite: `SELECT '$1 BIGINT it''s rows($2, a TEXT)', "BIGINT $3" -- $4 BIGINT\nFROM t /* $5 BIGINT */`,
      postgres: `SELECT '$1 BIGINT it''s rows($2, a TEXT)', "BIGINT $3" -- $4 BIGINT\nFROM t /* $5 BIGINT */`,
      parameters: 0,
    },
    {
      sql: 'UPDATE t SET a = 1 WHERE id IN (SELECT id FROM t WHERE b < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)',
      sqlite: 'UPDATE t SET a = 1 WHERE id IN (SELECT id FROM t WHERE b < ?1 LIMIT ?2 )',
      postgres: 'UPDATE t SET a = 1 WHERE id IN (SELECT id FROM t WHERE b < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)',
      parameters: 2,
    },
    {
      sql: 'SELECT 1 FROM t, u, v FOR KEY SHARE OF t, u SKIP LOCKED ON CONFLICT DO NOTHING',
      sqlite: 'SELECT 1 FROM t, u, v  ON CONFLICT DO NOTHING',
      postgres: 'SELECT 1 FROM t, u, v FOR KEY SHARE OF t, u SKIP LOCKED ON CONFLICT DO NOTHING',
      parameters: 0,
    },
    {
      sql: 'DELETE FROM t WHERE a IN ARRAY (SELECT a FROM t WHERE b = $1 AND f(g(b)) > 0 LIMIT 9) AND (c = 1)',
      sqlite: 'DELETE FROM t WHERE a IN (SELECT a FROM t WHERE b = ?1 AND f(g(b)) > 0 LIMIT 9) AND (c = 1)',
      postgres:
        'DELETE FROM t WHERE a = ANY (ARRAY (SELECT a FROM t WHERE b = $1 AND f(g(b)) > 0 LIMIT 9)) AND (c = 1)',
      parameters: 1,
    },
    {
      sql: 'SELECT name FROM t WHERE name IN ARRAY (SELECT name FROM rows($2, name TEXT) AS wanted)',
      sqlite:
        "SELECT name FROM t WHERE name IN (SELECT name FROM (SELECT value->>'$[0]' AS name FROM json_each(?2)) AS wanted)",
      postgres:
        'SELECT name FROM t WHERE name = ANY (ARRAY (SELECT name FROM (SELECT (item->>0) COLLATE "C" AS name FROM jsonb_array_elements($2::jsonb) AS elements (item)) AS wanted))',
      parameters: 2,
    },
    {
      sql: 'SELECT bigint, BIGINTS FROM narrows($1)',
      sqlite: 'SELECT bigint, BIGINTS FROM narrows(?1)',
      postgres: 'SELECT bigint, BIGINTS FROM narrows($1)',
      parameters: 1,
    },
  ]
  for (const { sql, sqlite, postgres, parameters } of cases) {
    it(`translates ${sql.replaceAll('\n', ' ')}`, () => {
      assert.deepEqual(compile(sql, 'sqlite'), { text: sqlite, parameters })
      assert.deepEqual(compile(sql, 'postgres'), { text: postgres, parameters })
    })
  }

  it('contains no part for a single database outside src/store', async () => {
    const src = join(import.meta.dirname, '..', '..', 'src')
    const marked: string[] = []
    let read = 0
    for await (const path of glob('**/*.ts', { cwd: src })) {
      if (/^store[/\\]/.test(path)) continue
      read++
      if (/\/\*\s*(?:sqlite|postgres)\b/i.test(await readFile(join(src, path), 'utf8'))) marked.push(path)
    }
    assert.ok(read > 20)
    assert.deepEqual(marked, [])
  })

  it('is rejected when a column of rows(…) is neither BIGINT nor TEXT', () => {
    for (const dialect of ['sqlite', 'postgres'] as const)
      assert.throws(() => compile('SELECT 1 FROM rows($1, at TIMESTAMP) AS r', dialect), {
        message: 'Cannot translate rows(…): "at TIMESTAMP" is not a BIGINT or TEXT column',
      })
  })
})

describe('the check for an SQLite with the write-ahead-log defect (DUR-09)', () => {
  for (const version of ['3.6.23', '3.7.0', '3.44.6', '3.50.7', '3.51.0', '3.51.2', '2.8.17', '', 'unknown'])
    it(`rejects "${version}"`, () => assert.match(refuseSqliteVersion(version) ?? '', /3\.51\.3 or newer is required/))
  for (const version of ['3.51.3', '3.52.0', '3.53.4', '3.100.0', '4.0.0'])
    it(`accepts "${version}"`, () => assert.equal(refuseSqliteVersion(version), null))
})

describe('the delay before a retry of a lock', () => {
  it('doubles from 1 ms to 50 ms, and half of it is random', () => {
    assert.deepEqual(
      [0, 1, 2, 5, 6, 60].map((attempt) => busyDelayMs(attempt, 1)),
      [1, 2, 4, 32, 50, 50],
    )
    assert.deepEqual(
      [0, 1, 60].map((attempt) => busyDelayMs(attempt, 0)),
      [0.5, 1, 25],
    )
  })
})

describe('a statement of PostgreSQL that keeps the locked row of an actor', () => {
  const cases: readonly (readonly [sql: string, keepsActor: boolean])[] = [
    ['SELECT id FROM actor WHERE id = $1 FOR UPDATE', true],
    ['INSERT INTO property (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET value = excluded.value', true],
    ['update list_item SET value = $1', true],
    ['/* why */ DELETE FROM list_node WHERE node = $1', true],
    ['UPDATE actor SET creator = $1', false],
    ['DELETE FROM actor WHERE id = $1', false],
    ['INSERT INTO publisher_subscription (actor_id) VALUES ($1)', false],
    ['DELETE FROM trust WHERE actor_id = $1', false],
    ['INSERT INTO actor (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET creator = $1', false],
    ['WITH gone AS (DELETE FROM actor RETURNING id) INSERT INTO property (name) SELECT id FROM gone', false],
    ['UPDATE ONLY actor SET creator = $1', false],
  ]
  for (const [sql, expected] of cases)
    it(`${expected ? 'includes' : 'excludes'} ${sql}`, () => {
      const cache = new StatementCache(undefined)
      const params = sql.includes('$1') ? ['a'] : []
      assert.equal(cache.find(sql, params).keepsActor, expected)
    })

  it('changes only tables without a foreign key or a trigger that leads further', () => {
    const migrations = readMigrations()
    const referenced = readSchema(migrations).flatMap(({ foreignKeys }) => foreignKeys.map(({ table }) => table))
    assert.deepEqual(
      TABLES_APART.filter((table) => referenced.includes(table)),
      [],
    )
    const sql = migrations.map((migration) => compile(migration.sql, 'postgres').text).join('\n')
    const functions = [...sql.matchAll(/CREATE FUNCTION (\w+)\(\) RETURNS trigger.*?^\$body\$;/gms)]
    const changed = functions.flatMap(([text, name = '']) =>
      new RegExp(`CREATE TRIGGER \\w+ [A-Z ]+ ON (?:${TABLES_APART.join('|')})\\s[^;]*${name}\\(\\)`).test(sql)
        ? [...text.matchAll(/\b(?:INSERT INTO|DELETE FROM|(?<!DO )UPDATE) (\w+)/g)].map(([, table]) => table)
        : [],
    )
    // The triggers that count what an actor stores change its row. The quotas bound what the counts can have grown since
    // the row was read (src/quota/quota-store.ts), and nothing else reads them from the locked row.
    const counting = changed.filter((table) => table === 'actor')
    assert.equal(counting.length, 6)
    assert.deepEqual(
      changed.filter((table) => table !== 'actor'),
      ['removed_list', 'list_item', 'list_index', 'list_node'],
    )
  })
})

describe('a table of SQLite', () => {
  const rowTables = [
    ...readMigrations()
      .map((migration) => compile(migration.sql, 'sqlite').text)
      .join('\n')
      .matchAll(/^CREATE TABLE (\w+) \(((?:(?!\n\)).)*)\n\) STRICT;/gms),
  ].map(([, name, body = '']) => ({
    name,
    columns: [...body.matchAll(/^ {2}([a-z]\w*) /gm)].map(([, column]) => column),
  }))

  it('has rowids where callers determine how long its rows are (HTTP-33)', () => {
    assert.deepEqual(
      rowTables.map(({ name }) => name),
      [
        'property',
        'list_item',
        'attribute',
        'diff',
        'missed_deletion',
        'waiting_change',
        'pending_callback',
        'history',
        'mcp_answer',
        'mcp_task',
        'approval',
        'idempotent_request',
        'job',
        'job_entry',
        'mail',
      ],
    )
  })

  // SQLite reads a long column to reach those behind it.
  it('has its long columns behind the others (HTTP-41)', () => {
    const long = new Set([
      'value',
      'data',
      'deletions',
      'changes',
      'body',
      'content',
      'call',
      'outcome',
      'arguments',
      'answer',
    ])
    assert.deepEqual(
      rowTables.map(({ name, columns }) => [name, columns.slice(columns.findIndex((column = '') => long.has(column)))]),
      [
        ['property', ['value']],
        ['list_item', ['value']],
        ['attribute', ['data']],
        ['diff', ['data', 'deletions']],
        ['missed_deletion', ['data']],
        ['waiting_change', ['changes']],
        ['pending_callback', ['body']],
        ['history', ['content']],
        ['mcp_answer', ['body']],
        ['mcp_task', ['call', 'outcome']],
        ['approval', ['arguments']],
        ['idempotent_request', ['answer']],
        ['job', ['data']],
        // `outcome` is a word here.
        ['job_entry', ['outcome', 'attempts', 'sent_at', 'answered_at', 'status', 'reason', 'data']],
        ['mail', ['content']],
      ],
    )
  })
})
