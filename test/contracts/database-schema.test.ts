import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { openStore, type StoreOptions } from '../../src/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { onShards } from '../support/citus.ts'
import { administer, sharedPostgresUrl } from '../support/postgres.ts'
import { createPostgresDatabase, createTestDatabase } from '../support/stores.ts'

/** Creates an empty database, in which a host may have tables of its own. */
async function emptyDatabase(t: TestContext): Promise<string> {
  const database = await createPostgresDatabase(await sharedPostgresUrl())
  t.after(() => database.remove())
  return database.url
}

async function opened(t: TestContext, options: StoreOptions): Promise<Store> {
  const store = await openStore(options)
  t.after(() => store.close())
  return store
}

async function rowsOf<R extends object>(url: string, sql: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<R>(sql)
  await client.end()
  return rows
}

const addActor = (store: Store, id: string): Promise<number> =>
  store.write((tx) => tx.run(`INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $1, '{}', 1)`, id))

/** Creates a role without privileges, and returns the URL with which it connects. */
async function roleIn(t: TestContext, url: string): Promise<{ role: string; url: string }> {
  const role = `role_${new URL(url).pathname.slice(1)}`
  await administer(url, `CREATE ROLE ${role} LOGIN`)
  // Its privileges end with the database, which was removed before.
  const server = new URL(url)
  server.pathname = '/postgres'
  t.after(() => administer(server.href, `DROP ROLE ${role}`))
  const own = new URL(url)
  own.username = role
  own.password = ''
  return { role, url: own.href }
}

describe('the tables of a PostgreSQL store', () => {
  it('are in the schema "troupe", and none is in "public"', async (t) => {
    const url = await emptyDatabase(t)
    await opened(t, { url })
    const schemas = await rowsOf<{ schema: string; has: number }>(
      url,
      `SELECT schemaname AS schema, CAST(count(*) > 40 AS INTEGER) AS has FROM pg_tables
       WHERE schemaname IN ('public', 'troupe') GROUP BY schemaname`,
    )
    assert.deepEqual(schemas, [{ schema: 'troupe', has: 1 }])
  })

  for (const pooler of ['', '?pooler=prepared', '?pooler=unprepared']) {
    it(`are in the configured schema, beside tables of the host with the same names (${pooler === '' ? 'direct' : pooler})`, async (t) => {
      const url = await emptyDatabase(t)
      await administer(
        url,
        'CREATE TABLE public.actor (host TEXT); CREATE TABLE public.schema_migrations (version TEXT)',
      )
      const store = await opened(t, { url: `${url}${pooler}`, schema: 'own_place' })
      await addActor(store, 'a')
      const ids = [{ id: 'a' }]
      assert.deepEqual(await store.read((q) => q.all('SELECT id FROM actor')), ids)
      assert.deepEqual(await store.snapshot((q) => q.all('SELECT id FROM actor')), ids)
      assert.deepEqual(await store.writeActor('a', (tx) => tx.all('SELECT id FROM actor')), ids)
      assert.deepEqual(await rowsOf(url, 'SELECT id FROM own_place.actor'), ids)
      assert.deepEqual(await rowsOf(url, 'SELECT host FROM public.actor'), [])
    })
  }

  it('of two services share a database, each in its own schema', async (t) => {
    const url = await emptyDatabase(t)
    const [one, two] = await Promise.all([opened(t, { url, schema: 'one' }), opened(t, { url, schema: 'two' })])
    await addActor(one, 'a')
    assert.deepEqual(await two.read((q) => q.all('SELECT id FROM actor')), [])
  })

  it('are created once by processes that start together', async (t) => {
    const url = await emptyDatabase(t)
    const stores = await Promise.all(Array.from({ length: 4 }, () => opened(t, { url })))
    await addActor(stores[0] as Store, 'a')
    assert.deepEqual(await stores[3]?.read((q) => q.all('SELECT id FROM actor')), [{ id: 'a' }])
  })

  it('are missing for a command that must not create them, which creates no schema either', async (t) => {
    const url = await emptyDatabase(t)
    await assert.rejects(openStore({ url, mustExist: true }), {
      message: 'The database contains no tables of this service yet; a start creates them.',
    })
    assert.deepEqual(await rowsOf(url, `SELECT nspname FROM pg_namespace WHERE nspname = 'troupe'`), [])
  })

  it('delete the items of a removed list, also for a statement of another search path', async (t) => {
    if (onShards()) return
    const database = await createTestDatabase('postgres')
    t.after(() => database.remove())
    const store = await opened(t, { url: database.url })
    await addActor(store, 'a')
    await rowsOf(
      database.url,
      `INSERT INTO troupe.property (actor_id, name, kind, value) VALUES ('a', 'l', 'list', '')`,
    )
    await rowsOf(
      database.url,
      `INSERT INTO troupe.list_item (actor_id, list, item, revision, value) VALUES ('a', 'l', 1, 1, '1')`,
    )
    await rowsOf(database.url, `DELETE FROM troupe.property`)
    assert.deepEqual(await rowsOf(database.url, 'SELECT item FROM troupe.list_item'), [])
  })
})

describe('a start on PostgreSQL is refused', () => {
  it('when the schema has a table of another program, which its sentence names', async (t) => {
    const url = await emptyDatabase(t)
    await administer(url, 'CREATE TABLE public.account (host TEXT)')
    await assert.rejects(openStore({ url, schema: 'public' }), {
      name: 'StoreStartError',
      message: new RegExp(
        '^Cannot use the schema "public" of the PostgreSQL database "\\w+" at \\S+: it contains a table "account" of another program; set DATABASE_SCHEMA to a schema of this service alone\\.$',
      ),
    })
    assert.deepEqual(await rowsOf(url, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`), [
      { tablename: 'account' },
    ])
  })

  it('when another program uses a table "schema_migrations" there', async (t) => {
    const url = await emptyDatabase(t)
    await administer(url, 'CREATE TABLE public.schema_migrations (version TEXT)')
    await assert.rejects(openStore({ url, schema: 'public' }), { message: /contains a table "schema_migrations"/ })
  })

  it('when the role may not create the schema', async (t) => {
    const { role, url } = await roleIn(t, await emptyDatabase(t))
    await assert.rejects(openStore({ url }), {
      message: new RegExp(
        `: the role "${role}" lacks the privilege CREATE on the database, and the schema "troupe" does not exist\\.$`,
      ),
    })
  })

  it('when the role may not use the schema, or may not create tables in it', async (t) => {
    const admin = await emptyDatabase(t)
    const { role, url } = await roleIn(t, admin)
    await administer(admin, 'CREATE SCHEMA troupe')
    await assert.rejects(openStore({ url }), {
      message: new RegExp(`: the role "${role}" lacks the privilege USAGE on the schema "troupe"\\.$`),
    })
    await administer(admin, `GRANT USAGE ON SCHEMA troupe TO ${role}`)
    await assert.rejects(openStore({ url }), {
      message: new RegExp(`: the role "${role}" lacks the privilege CREATE on the schema "troupe"\\.$`),
    })
    await administer(admin, `GRANT CREATE ON SCHEMA troupe TO ${role}`)
    await addActor(await opened(t, { url }), 'a')
  })

  it('when the role lacks privileges on a table, which its sentence names', async (t) => {
    const admin = await emptyDatabase(t)
    await (await openStore({ url: admin })).close()
    const { role, url } = await roleIn(t, admin)
    await administer(admin, `GRANT USAGE ON SCHEMA troupe TO ${role}`)
    await administer(admin, `GRANT SELECT ON ALL TABLES IN SCHEMA troupe TO ${role}`)
    await assert.rejects(openStore({ url }), {
      message: new RegExp(
        `: the role "${role}" lacks the privileges INSERT, UPDATE, DELETE on the table "troupe"\\."account"\\.$`,
      ),
    })
  })
})

describe('a role that did not create the tables', () => {
  it('runs the service with USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on the tables', async (t) => {
    const admin = await emptyDatabase(t)
    await (await openStore({ url: admin })).close()
    const { role, url } = await roleIn(t, admin)
    await administer(admin, `GRANT USAGE ON SCHEMA troupe TO ${role}`)
    await administer(admin, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA troupe TO ${role}`)
    const store = await opened(t, { url })
    await addActor(store, 'a')
    assert.deepEqual(await store.writeActor('a', (tx) => tx.all('SELECT id FROM actor FOR UPDATE')), [{ id: 'a' }])
  })
})
