/** A later migration, on a database with data that an earlier release uses at the same time. */
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import pg from 'pg'
import { migrate, type Migration, readMigrations } from '../../src/store/migrate.ts'
import { migrationTarget } from '../../src/store/postgres/migration-target.ts'
import { types } from '../../src/store/postgres/types.ts'
import { openStore } from '../../src/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { sharedPostgresUrl } from '../support/postgres.ts'
import { createFileFolder, createPostgresDatabase, forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const known = readMigrations()
const next: Migration = {
  number: known.length + 1,
  name: 'labels',
  sql: `-- A column, and a table that belongs to an actor.
ALTER TABLE attribute ADD COLUMN label TEXT NOT NULL DEFAULT 'none';
CREATE TABLE sticker (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  id BIGINT NOT NULL,
  PRIMARY KEY (actor_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sticker_by_id ON sticker (id);
INSERT INTO sticker (actor_id, id) SELECT id, 1 FROM actor;
`,
}

const addActor = (store: Store, id: string) =>
  store.write((tx) =>
    tx.run('INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, $4)', id, 'a@b.example', '', 1),
  )

forEachStore((dialect) => {
  it('a migration changes a database with data, while a process of the earlier release uses it', async (t) => {
    const { url, remove } =
      dialect === 'sqlite' ? createFileFolder() : await createPostgresDatabase(await sharedPostgresUrl())
    t.after(remove)
    const earlier = await openStore({ url, migrations: known })
    t.after(() => earlier.close())
    await addActor(earlier, 'a')
    const later = await openStore({ url, migrations: [...known, next] })
    t.after(() => later.close())
    await addActor(earlier, 'b')
    await addActor(later, 'c')
    const idsIn = (store: Store) => store.read((q) => q.all('SELECT id FROM actor ORDER BY id'))
    assert.deepEqual(await idsIn(earlier), [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
    assert.deepEqual(await idsIn(later), [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
    assert.deepEqual(await later.read((q) => q.all('SELECT actor_id, id FROM sticker')), [{ actor_id: 'a', id: 1 }])
    // The earlier release deletes an actor that has rows in a table that it does not know.
    await earlier.write((tx) => tx.run('DELETE FROM actor WHERE id = $1', 'a'))
    assert.deepEqual(await later.read((q) => q.all('SELECT actor_id, id FROM sticker')), [])
    await assert.rejects(openStore({ url, migrations: known }), { name: 'StoreStartError' })
  })
})

/** A PostgreSQL database in which a transaction reads `attribute` until `end`, as a backup does. */
async function whileRead(t: TestContext) {
  const { url, remove } = await createPostgresDatabase(await sharedPostgresUrl())
  const closes: (() => Promise<unknown>)[] = [remove]
  // The connections end before the database is removed.
  t.after(async () => {
    for (const close of closes.toReversed()) await close()
  })
  const connected = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url, types })
    await client.connect()
    closes.push(() => client.end())
    return client
  }
  const earlier = await openStore({ url, migrations: known })
  closes.push(() => earlier.close())
  const [reader, observer] = [await connected(), await connected()]
  await reader.query('BEGIN; LOCK TABLE troupe.attribute IN ACCESS SHARE MODE')
  const waiting = async (): Promise<boolean> =>
    (await observer.query("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'troupe.attribute'::regclass")).rows
      .length > 0
  return { url, earlier, closes, connected, waiting, end: () => reader.query('COMMIT') }
}

it('a migration lets other statements run while it waits for a transaction that reads the tables', async (t) => {
  const { url, earlier, closes, waiting, end } = await whileRead(t)
  const opening = openStore({ url, migrations: [...known, next] })
  opening.catch(() => {})
  await until(waiting)
  // The statement waits behind the attempt of the migration, which ends by itself.
  assert.deepEqual(await earlier.read((q) => q.all('SELECT name FROM attribute')), [])
  await end()
  const later = await opening
  closes.push(() => later.close())
  assert.deepEqual(await later.read((q) => q.all('SELECT label FROM attribute')), [])
})

it('a migration that a transaction keeps from the tables names the cause, and changes nothing', async (t) => {
  const { url, connected, end } = await whileRead(t)
  const target = migrationTarget(await connected(), { schema: 'troupe', tables: [], database: 'the database' }, 0)
  await assert.rejects(migrate([...known, next], target), {
    name: 'StoreStartError',
    message:
      'Cannot migrate the database: another transaction, such as a backup, uses the tables; start again when it has ended.',
  })
  await end()
  await (await openStore({ url, migrations: known })).close()
})
