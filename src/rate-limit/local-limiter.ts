/**
 * Rate limits of this process, counted in memory. They protect the process itself, so they need no query, and each process
 * counts separately.
 */
import type { Metrics } from '../observe/metrics.ts'
import { Buckets } from './buckets.ts'
import { bucketStandingOf } from './gcra.ts'
import { rateLimitHeaders } from './headers.ts'
import { tooMany } from './limiter.ts'
import { type ClientLimit, limitName, type Rates } from './rates.ts'

export interface LocalLimiterDeps {
  readonly rates: Rates
  readonly now: () => number
  readonly metrics: Pick<Metrics, 'limitRefused'>
}

export class LocalLimiter {
  readonly #deps: LocalLimiterDeps
  readonly #buckets = new Buckets()

  constructor(deps: LocalLimiterDeps) {
    this.#deps = deps
  }

  /**
   * Takes `count` from the bucket of this client, or nothing.
   *
   * @returns the rate-limit headers of the response.
   * @throws ServiceError `too_many_requests`, with `Retry-After`.
   */
  charge(limit: ClientLimit, client: string, count: number): Readonly<Record<string, string>> {
    const rate = this.#deps.rates[limit]
    if (rate === null) return {}
    const now = this.#deps.now()
    const { isAllowed, emptyAt } = this.#buckets.take(`${limit} ${client}`, now, rate, count)
    const standing = bucketStandingOf(emptyAt, now, rate, count)
    if (isAllowed) return rateLimitHeaders(limitName(limit), rate, standing)
    this.#deps.metrics.limitRefused(limit)
    throw tooMany(limit, rate, standing)
  }
}
