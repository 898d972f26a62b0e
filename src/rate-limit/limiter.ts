/** Rate limits that all processes share, counted in the store. */
import { ServiceError } from '../errors.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Store } from '../store/store.ts'
import { Buckets } from './buckets.ts'
import { type Rate, type BucketStanding, bucketStandingOf, type Taken } from './gcra.ts'
import { purgeBuckets, takeStored } from './limit-store.ts'
import { type LimitKey, limitName, perOf, type Rates } from './rates.ts'
import { sourceBuckets } from './source.ts'
import { rateLimitHeaders } from './headers.ts'

export interface LimiterDeps {
  readonly store: Store
  readonly rates: Rates
  readonly now: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'limitRefused'>
}

/** One bucket to take from. */
export interface Demand {
  readonly limit: LimitKey
  /** The owner of the bucket: an IP address, an actor or an email address. Null when unknown, which is not counted. */
  readonly of: string | null
  /** How many to take, or nothing. Default: 1. */
  readonly count?: number
}

interface Bucket {
  readonly limit: LimitKey
  readonly key: string
  readonly rate: Rate
  readonly count: number
}

const purgeEveryMs = 600_000
const maxPurged = 5000
/** Minimum interval between log lines about a failing store. */
const complainEveryMs = 60_000

export class Limiter {
  readonly #deps: LimiterDeps
  /** The buckets that the store reported as full. Requests are refused without another query. */
  readonly #known = new Buckets()
  /** Counts in this process while the store fails, so that limits still apply. */
  readonly #fallback = new Buckets()
  #purgedAt: number
  #complainedAt = Number.NEGATIVE_INFINITY
  #unheard = 0
  #purging: Promise<void> = Promise.resolve()

  constructor(deps: LimiterDeps) {
    this.#deps = deps
    this.#purgedAt = deps.now()
  }

  /**
   * Takes from each bucket in order and stops at the first full one. A refusal by a narrow limit does not count against
   * the wider limits.
   *
   * @returns the rate-limit headers of the bucket with the least remaining.
   * @throws ServiceError `too_many_requests`, with `Retry-After`.
   */
  async charge(demands: readonly Demand[]): Promise<Readonly<Record<string, string>>> {
    const buckets = demands.flatMap((demand) => this.#bucketsOf(demand))
    if (buckets.length === 0) return {}
    for (const bucket of buckets) {
      if (this.#known.isExhausted(bucket.key, this.#deps.now(), bucket.rate)) {
        throw this.#refusal(bucket, this.#known.emptyAt(bucket.key))
      }
    }
    const taken = await this.#take(buckets)
    let tightest: { readonly bucket: Bucket; readonly standing: BucketStanding } | undefined
    for (const [index, { isAllowed, emptyAt }] of taken.entries()) {
      const bucket = buckets[index] as Bucket
      if (!isAllowed) throw this.#refusal(bucket, emptyAt)
      const standing = bucketStandingOf(emptyAt, this.#deps.now(), bucket.rate)
      if (tightest === undefined || standing.remaining < tightest.standing.remaining) tightest = { bucket, standing }
    }
    return tightest === undefined
      ? {}
      : rateLimitHeaders(limitName(tightest.bucket.limit), tightest.bucket.rate, tightest.standing)
  }

  /** Forgets which buckets of the store are full, so that the next request asks the store. */
  forget(): void {
    this.#known.clear()
  }

  /** Resolves when the current purge has ended. */
  settled(): Promise<void> {
    return this.#purging
  }

  #bucketsOf({ limit, of, count = 1 }: Demand): readonly Bucket[] {
    const rate = this.#deps.rates[limit]
    if (rate === null || (of === null && perOf(limit) !== 'total')) return []
    const owners = perOf(limit) === 'source' ? sourceBuckets(of ?? '', rate) : [{ of: of ?? '', rate }]
    return owners.map((owner) => ({ limit, rate: owner.rate, key: keyOf(limit, owner.of), count }))
  }

  async #take(buckets: readonly Bucket[]): Promise<readonly Taken[]> {
    const { store, now } = this.#deps
    try {
      const taken = await store.write(
        async (tx) => {
          const all: Taken[] = []
          for (const { key, rate, count } of buckets) {
            const one = await takeStored(tx, key, now(), rate, count)
            all.push(one)
            if (!one.isAllowed) break
          }
          return all
        },
        { turn: buckets[0]?.key, durability: 'relaxed' },
      )
      const last = taken.at(-1)
      if (last?.isAllowed === false) this.#known.raise(buckets[taken.length - 1]?.key ?? '', last.emptyAt, now())
      this.#purgeNowAndThen()
      return taken
    } catch (error) {
      this.#complain(error)
      const all: Taken[] = []
      for (const { key, rate, count } of buckets) {
        const one = this.#fallback.take(key, now(), rate, count)
        all.push(one)
        if (!one.isAllowed) break
      }
      return all
    }
  }

  #refusal({ limit, rate, count }: Bucket, emptyAt: number): ServiceError {
    this.#deps.metrics.limitRefused(limit)
    return tooMany(limit, rate, bucketStandingOf(emptyAt, this.#deps.now(), rate, count))
  }

  /** Logs at most one warning a minute, with the number of failures since the last one. */
  #complain(error: unknown): void {
    const { now, log } = this.#deps
    this.#unheard += 1
    if (Math.abs(now() - this.#complainedAt) < complainEveryMs) return
    log.warn(
      { error, times: this.#unheard },
      'Cannot count rate limits for all processes: the store cannot be used. This process counts alone',
    )
    this.#complainedAt = now()
    this.#unheard = 0
  }

  #purgeNowAndThen(): void {
    const { store, now, log } = this.#deps
    if (Math.abs(now() - this.#purgedAt) < purgeEveryMs) return
    this.#purgedAt = now()
    const purge = async (): Promise<void> => {
      for (;;) {
        const gone = await store.write((tx) => purgeBuckets(tx, now(), maxPurged))
        if (gone < maxPurged) return
      }
    }
    this.#purging = runInBackground(() =>
      purge().catch((error: unknown) => log.warn({ error }, 'Cannot delete expired rate-limit buckets')),
    )
  }
}

/** Returns the key of a bucket. It is hashed, so that the store keeps no addresses or names. */
export function keyOf(limit: LimitKey, of: string): string {
  return hashSecret(`${limit}\n${of}`)
}

export function tooMany(limit: LimitKey, rate: Rate, standing: BucketStanding): ServiceError {
  return new ServiceError('too_many_requests', 'Cannot serve this request: too many requests. Retry later', {
    reason: `the limit ${limit} is exhausted`,
    retryAfterSeconds: standing.retryAfterSeconds,
    headers: rateLimitHeaders(limitName(limit), rate, { ...standing, remaining: 0 }),
  })
}
