/** The service is killed under load. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runCrashRounds } from '../support/crash.ts'

// `npm run crash -- --rounds 1000` runs more.
describe('a service that is killed under load', () => {
  it('has kept acknowledged changes and made no partial change, on SQLite (DUR-01, LST-01, DEL-01, I1, I2, I5, I8)', async () => {
    const { acknowledged } = await runCrashRounds({ store: 'sqlite', victim: 'service', rounds: 10, seed: 1_000 })
    assert.ok(acknowledged > 10)
  })

  it('has kept acknowledged changes and made no partial change, on PostgreSQL (DUR-02, LST-01, DEL-01, I1, I2, I5, I8)', async () => {
    const { acknowledged } = await runCrashRounds({ store: 'postgres', victim: 'service', rounds: 10, seed: 2_000 })
    assert.ok(acknowledged > 10)
  })
})
