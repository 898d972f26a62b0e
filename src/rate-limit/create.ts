import type { Runtime } from '../runtime.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { Limiter } from './limiter.ts'
import { LocalLimiter } from './local-limiter.ts'
import { ratesOf } from './rates.ts'
import { resetLimits, Resets } from './resets.ts'

export type RateLimits = ReturnType<typeof createRateLimits>

export function createRateLimits({ config, store, now, log, metrics }: Runtime) {
  const rates = ratesOf(config)
  const limiter = new Limiter({ store, rates, now, log, metrics })
  const failedAttempts = new FailedAttempts({ store, rates, now, log, metrics })
  return {
    limiter,
    localLimiter: new LocalLimiter({ rates, now, metrics }),
    failedAttempts,
    resets: new Resets({ store, known: [limiter, failedAttempts] }),
    resetLimits,
  }
}
