/** No statement needs a session of its own, so a connection pooler may give each transaction another session. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { StoreStartError } from '../../src/store/start-error.ts'
import { databaseAddress } from '../../src/store/postgres/pooler.ts'
import { beginsFor } from '../../src/store/postgres/settings.ts'

const root = dirname(dirname(import.meta.dirname))

/** Forms of SQL whose effect outlives a transaction in its session. */
const ofSession: readonly RegExp[] = [
  /\b(?:UN)?LISTEN +["\w*]/,
  /\bNOTIFY +["\w]|\bpg_notify\b/,
  /\bpg_(?:try_)?advisory_(?:unlock|lock)\w*/,
  /\bTEMP\w* +(?:TABLE|VIEW|SEQUENCE)\b/,
  /\bWITH HOLD\b/,
  /\b(?:PREPARE|DEALLOCATE|DISCARD) +\w/,
  /\b(?:currval|lastval)\(/,
  /['"`;] *SET (?!LOCAL )\w/,
  /\bset_config\([^)]*false *\)/,
]

const found = (text: string): string[] => ofSession.flatMap((form) => form.exec(text)?.[0] ?? [])

describe('statements of the service', () => {
  it('need no session: no LISTEN, session lock, temporary table, held cursor or session setting', async () => {
    const files = await Array.fromAsync(glob('src/**/*.{ts,sql}', { cwd: root }))
    assert.ok(files.length > 300, `${files.length} files`)
    const wrong = files.flatMap((file) =>
      found(readFileSync(join(root, file), 'utf8')).map((form) => `${file}: ${form}`),
    )
    assert.deepEqual(wrong, [])
  })

  for (const statement of [
    'LISTEN changes',
    "SELECT pg_notify('changes', '')",
    'SELECT pg_advisory_lock(1)',
    'SELECT pg_try_advisory_lock(1)',
    'CREATE TEMP TABLE t (n BIGINT)',
    'DECLARE c CURSOR WITH HOLD FOR SELECT 1',
    'PREPARE s AS SELECT 1',
    "'SET lock_timeout = 5'",
    "SELECT set_config('jit', 'off', false)",
  ])
    it(`would be recognized by the rule: ${statement}`, () => assert.equal(found(statement).length, 1))
})

describe('transactions behind a pooler', () => {
  const needs = { schema: 'notes', lockTimeoutMs: 5_000, statementTimeoutMs: 10_000 }
  const settings =
    '; SET LOCAL search_path TO "notes"; SET LOCAL enable_seqscan TO off; SET LOCAL enable_hashjoin TO off; SET LOCAL enable_mergejoin TO off; SET LOCAL jit TO off' +
    '; SET LOCAL statement_timeout TO 10000; SET LOCAL lock_timeout TO 5000; SET LOCAL idle_in_transaction_session_timeout TO 11000'

  for (const pooler of ['prepared', 'unprepared'] as const)
    it(`begin with all settings (${pooler})`, () =>
      assert.deepEqual(beginsFor(pooler, needs), {
        write: { full: `BEGIN${settings}`, relaxed: `BEGIN; SET LOCAL synchronous_commit TO off${settings}` },
        snapshot: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY${settings}`,
        read: `BEGIN READ ONLY${settings}`,
      }))

  it('begin without settings where no pooler is, because the connection has them', () =>
    assert.deepEqual(beginsFor('none', needs), {
      write: { full: 'BEGIN', relaxed: 'BEGIN; SET LOCAL synchronous_commit TO off' },
      snapshot: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
      read: undefined,
    }))
})

describe('the parameter pooler of a database URL', () => {
  const read: readonly (readonly [string, { url: string; pooler: string }])[] = [
    ['postgres://u:p@h/d', { url: 'postgres://u:p@h/d', pooler: 'none' }],
    ['postgres://u:p@h/d?pooler=none', { url: 'postgres://u:p@h/d', pooler: 'none' }],
    ['postgres://u:p@h/d?pooler=prepared', { url: 'postgres://u:p@h/d', pooler: 'prepared' }],
    [
      'postgresql://h/d?sslmode=verify-full&pooler=unprepared',
      { url: 'postgresql://h/d?sslmode=verify-full', pooler: 'unprepared' },
    ],
    ['postgres://h/d?sslmode=require', { url: 'postgres://h/d?sslmode=require', pooler: 'none' }],
  ]
  for (const [url, address] of read)
    it(`is read and removed: ${url}`, () => assert.deepEqual(databaseAddress(url), { ...address, hosts: [] }))

  it('is read beside several hosts', () => {
    assert.deepEqual(databaseAddress('postgres://u:p@a:1,b/d?pooler=prepared'), {
      url: 'postgres://u:p@a:1/d',
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 5432 },
      ],
      pooler: 'prepared',
    })
  })

  for (const query of ['pooler=', 'pooler=transaction', 'pooler=Prepared', 'pooler=prepared&pooler=unprepared'])
    it(`is refused: ${query}`, () =>
      assert.throws(
        () => databaseAddress(`postgres://u:secret@h/d?${query}`),
        (error: Error) => {
          assert.ok(error instanceof StoreStartError)
          assert.equal(
            error.message,
            'Cannot use the URL of the PostgreSQL database: its parameter pooler must be one of none, prepared, unprepared.',
          )
          return true
        },
      ))
})
