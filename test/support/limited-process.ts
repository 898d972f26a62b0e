/** Charges one bucket of the store at argv[2] a hundred times in parallel, and prints how many charges passed. */
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { Limiter } from '../../src/rate-limit/limiter.ts'
import { ratesOf } from '../../src/rate-limit/rates.ts'
import { openStore } from '../../src/open-store.ts'

const store = await openStore({ url: process.argv[2] ?? '' })
const rates = ratesOf({ mode: 'production', rateLimits: { 'sign_in/source': { count: 10, seconds: 3600 } } })
const limiter = new Limiter({ store, rates, now: store.now, log: createLog('error'), metrics: createMetrics('test') })
process.stdout.write('ready\n')
process.stdin.once('data', () => {
  const asked = Array.from({ length: 100 }, () => limiter.charge([{ limit: 'sign_in/source', of: '192.0.2.7' }]))
  void Promise.allSettled(asked).then(async (all) => {
    process.stdout.write(`passed ${all.filter(({ status }) => status === 'fulfilled').length}\n`)
    await store.close()
    process.exit(0)
  })
})
