/** A later migration, on a database with data that an earlier release uses at the same time. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Migration, readMigrations } from '../../src/store/migrate.ts'
import { openStore } from '../../src/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { sharedPostgresUrl } from '../support/postgres.ts'
import { createFileFolder, createPostgresDatabase, forEachStore } from '../support/stores.ts'

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
