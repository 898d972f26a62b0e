import assert from 'node:assert/strict'
import { placements } from '../support/placements.ts'
import { describe, it } from 'node:test'
import { openStore } from '../../src/open-store.ts'
import { readMigrations } from '../../src/store/migrate.ts'
import { missingSteps, scaleDatabase } from '../../src/store/postgres/scale.ts'
import { sharedPostgresUrl } from '../support/postgres.ts'
import { createPostgresDatabase } from '../support/stores.ts'

describe('a database without Citus', () => {
  for (const isDry of [false, true]) {
    it(`refuses ${isDry ? 'the plan of a distribution' : 'a distribution'}, and says what to do`, async (t) => {
      const database = await createPostgresDatabase(await sharedPostgresUrl())
      t.after(() => database.remove())
      const store = await openStore({ url: database.url })
      await store.close()
      const steps: string[] = []
      await assert.rejects(
        scaleDatabase(
          database.url,
          { migrations: readMigrations(), placements, schema: 'troupe', shards: 4, isDry },
          ({ title }) => steps.push(title),
        ),
        {
          message:
            'Cannot distribute the tables: the database has no extension citus. Create it on every server and add the workers (docs/scaling.md).',
        },
      )
      assert.deepEqual(steps, [])
    })
  }

  it('has no missing steps for doctor to report', async (t) => {
    const database = await createPostgresDatabase(await sharedPostgresUrl())
    t.after(() => database.remove())
    assert.equal(await missingSteps(database.url, { migrations: readMigrations(), placements, schema: 'troupe' }), null)
  })
})
