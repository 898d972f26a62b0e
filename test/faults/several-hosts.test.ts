import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { openStore } from '../../src/open-store.ts'
import { splitHosts } from '../../src/store/postgres/hosts.ts'
import type { Store } from '../../src/store/store.ts'
import { freePort } from '../support/free-port.ts'
import { administer, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const hostOf = (server: PostgresServer): string => new URL(server.url).host
const migrations = [{ number: 1, name: 'initial', sql: 'CREATE TABLE "note" ("id" TEXT_KEY PRIMARY KEY);' }]

describe('a database URL with several hosts', () => {
  let primary: PostgresServer
  let standby: PostgresServer
  const opened: Store[] = []

  before(async () => {
    primary = await startPostgres()
    await administer(primary.url, 'CREATE DATABASE notes')
    standby = await primary.replica()
    await until(() =>
      administer(standby.url.replace(/postgres$/, 'notes'), 'SELECT 1').then(
        () => true,
        () => false,
      ),
    )
  })
  after(async () => {
    for (const store of opened) await store.close()
    await standby.remove()
    await primary.remove()
  })

  async function open(hosts: string, query = ''): Promise<Store> {
    const url = `postgres://postgres:hunter2@${hosts}/notes${query}`
    const store = await openStore({ url, migrations, connectTimeoutMs: 10_000 })
    opened.push(store)
    return store
  }

  const add = (store: Store, id: string): Promise<unknown> =>
    store.write((tx) => tx.run('INSERT INTO note (id) VALUES ($1)', id))
  const ids = (store: Store): Promise<{ id: string }[]> => store.read((q) => q.all('SELECT id FROM note ORDER BY id'))

  it('passes over a host without a server and over a standby', async () => {
    const nothing = `127.0.0.1:${await freePort()}`
    const store = await open([nothing, hostOf(standby), hostOf(primary)].join(','), '?target_session_attrs=read-write')
    await add(store, 'first')
    assert.deepEqual(await ids(store), [{ id: 'first' }])
  })

  it('names every host when none accepts changes, without the password (DUR-30)', async () => {
    const port = await freePort()
    await assert.rejects(open(`127.0.0.1:${port},${hostOf(standby)}`), (error: Error) => {
      assert.doesNotMatch(error.message, /hunter2/)
      assert.ok(error.message.includes(`connect ECONNREFUSED 127.0.0.1:${port}; ${hostOf(standby)} accepts no changes`))
      return true
    })
  })

  it('follows a server that no longer accepts changes, and one that ends, without a restart (DUR-30)', async () => {
    const store = await open(`${hostOf(primary)},${hostOf(standby)}`)
    await add(store, 'before')
    // The former primary still answers, as after a switch by hand.
    await administer(primary.url, 'ALTER SYSTEM SET default_transaction_read_only = on')
    await administer(primary.url, 'SELECT pg_reload_conf()')
    await until(async () => {
      const client = new pg.Client({ connectionString: standby.url })
      await client.connect()
      const { rows } = await client.query<{ same: boolean }>(
        'SELECT EXISTS (SELECT FROM pg_stat_wal_receiver) AND pg_last_wal_replay_lsn() = pg_last_wal_receive_lsn() AS same',
      )
      await client.end()
      return rows[0]?.same === true
    })
    await administer(standby.url, 'SELECT pg_promote()')
    await until(() =>
      add(store, 'switched').then(
        () => true,
        () => false,
      ),
    )
    assert.deepEqual(
      (await ids(await open(hostOf(standby)))).map(({ id }) => id),
      ['before', 'first', 'switched'],
    )
    await primary.stop('immediate')
    await until(() =>
      add(store, 'ended').then(
        () => true,
        () => false,
      ),
    )
    assert.deepEqual(
      (await ids(store)).map(({ id }) => id),
      ['before', 'ended', 'first', 'switched'],
    )
    await primary.start()
  })
})

describe('the hosts of a database URL', () => {
  const accepted: readonly (readonly [given: string, url: string, hosts: readonly (readonly [string, number])[]])[] = [
    ['postgres://a/db', 'postgres://a/db', []],
    ['postgres://u:p%2C@a:1/db?pooler=none', 'postgres://u:p%2C@a:1/db?pooler=none', []],
    ['postgres://u:a,b@h/db', 'postgres://u:a,b@h/db', []],
    [
      'postgresql://u:p@a:1,b/db',
      'postgresql://u:p@a:1/db',
      [
        ['a', 1],
        ['b', 5432],
      ],
    ],
    [
      'postgres://[::1]:5433,b:5/db?sslmode=require',
      'postgres://[::1]:5433/db?sslmode=require',
      [
        ['::1', 5433],
        ['b', 5],
      ],
    ],
    [
      'postgres://a,b/db?target_session_attrs=primary&load_balance_hosts=disable',
      'postgres://a/db',
      [
        ['a', 5432],
        ['b', 5432],
      ],
    ],
    ['postgres://a/db?target_session_attrs=read-write', 'postgres://a/db', [['a', 5432]]],
  ]
  for (const [given, url, hosts] of accepted)
    it(`of ${given} are ${hosts.length}`, () => {
      assert.deepEqual(splitHosts(given), { url, hosts: hosts.map(([host, port]) => ({ host, port })) })
    })

  for (const [given, reason] of [
    ['postgres://a,b/db?target_session_attrs=standby', 'target_session_attrs must be any, primary, read-write'],
    ['postgres://a,b/db?load_balance_hosts=random', 'load_balance_hosts must be disable'],
    ['postgres://a:x,b/db', 'each host is a name or an address, with a port behind a colon'],
    ['postgres://a,,b/db', 'each host is a name or an address, with a port behind a colon'],
    ['postgres://a,b:1:2/db', 'each host is a name or an address, with a port behind a colon'],
  ] as const)
    it(`are refused in ${given}`, () => {
      assert.throws(() => splitHosts(given), {
        name: 'StoreStartError',
        message: `Cannot use the URL of the PostgreSQL database: ${reason}.`,
      })
    })
})
