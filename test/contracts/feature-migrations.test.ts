/** The migrations of features that an application adds. */
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { Migration } from '../../src/store/migrate.ts'
import { openStore } from '../../src/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { emptyTarget } from '../support/backups.ts'
import { forEachStore } from '../support/stores.ts'

const table = (name: string): string => `CREATE TABLE ${name} (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  id TEXT_KEY NOT NULL,
  PRIMARY KEY (actor_id, id)
) STRICT;
`
const tags: Migration = { feature: 'tags', number: 1, name: 'initial', sql: table('tags') }
const colors: Migration = {
  feature: 'tags',
  number: 2,
  name: 'color',
  sql: `ALTER TABLE tags ADD COLUMN color TEXT NOT NULL DEFAULT '';\n`,
}
const labels: Migration = { feature: 'labels', number: 1, name: 'initial', sql: table('labels') }

forEachStore((dialect) => {
  async function opener(t: TestContext): Promise<(scripts: Migration[], mustExist?: boolean) => Promise<Store>> {
    const { url, remove } = await emptyTarget(dialect)
    t.after(remove)
    return async (featureMigrations, mustExist = false) => {
      const store = await openStore({ url, featureMigrations, mustExist })
      t.after(() => store.close())
      return store
    }
  }
  const applied = (store: Store) =>
    store.read((q) => q.all('SELECT feature, number, name FROM feature_migration ORDER BY feature, number'))

  it('migrations of features run once, each with its own numbers, after those of the service', async (t) => {
    const open = await opener(t)
    assert.deepEqual(await applied(await open([tags])), [{ feature: 'tags', number: 1, name: 'initial' }])
    const both = await Promise.all([open([tags, colors, labels]), open([tags, colors, labels])])
    for (const store of both)
      assert.deepEqual(await applied(store), [
        { feature: 'labels', number: 1, name: 'initial' },
        { feature: 'tags', number: 1, name: 'initial' },
        { feature: 'tags', number: 2, name: 'color' },
      ])
    assert.deepEqual(await both[0].read((q) => q.all('SELECT color FROM tags')), [])
    // Without the feature, its rows stay.
    assert.equal((await applied(await open([]))).length, 3)
  })

  it('refuses a database whose feature a newer version of the application migrated', async (t) => {
    const open = await opener(t)
    await open([tags, colors])
    await assert.rejects(open([tags]), {
      name: 'StoreStartError',
      message:
        'Cannot use the database: a newer version of the application migrated the feature tags to schema 2 ("color"), and this version knows its schemas up to 1; nothing was changed. Start the newer version.',
    })
  })

  it('refuses a database whose feature other scripts migrated', async (t) => {
    const open = await opener(t)
    await open([tags])
    await assert.rejects(open([{ ...tags, sql: `${tags.sql}-- changed\n` }]), {
      name: 'StoreStartError',
      message:
        'Cannot use the database: its migration 1 ("initial") differs from the one that the feature tags has; nothing was changed.',
    })
  })

  it('does not migrate a feature for a command that needs an existing database', async (t) => {
    const open = await opener(t)
    await open([tags])
    await assert.rejects(open([tags, colors], true), {
      message: 'The database lacks schema 2 of the feature tags; a start migrates it.',
    })
    assert.equal((await applied(await open([tags], true))).length, 1)
  })
})
