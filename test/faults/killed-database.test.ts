/** The database, or one of its connections, is killed under load. */
import { describe, it } from 'node:test'
import { runCrashRounds } from '../support/crash.ts'

// `npm run crash -- --rounds 1000` runs more.
describe('a database that is killed under load', () => {
  it('restarts with all acknowledged changes, and the service reconnects automatically (DUR-02, I1, I2, I5, I8)', async () => {
    await runCrashRounds({ store: 'postgres', victim: 'server', rounds: 3, seed: 3_000 })
  })

  it('loses no change when one backend process dies, and the service recovers automatically (DUR-02, I1, I2, I5, I8)', async () => {
    await runCrashRounds({ store: 'postgres', victim: 'backend', rounds: 3, seed: 4_000 })
  })
})
