/**
 * The generic cell rate algorithm (GCRA). A bucket is one number: the time at which it is empty again. The functions are
 * pure, and times are in milliseconds. `limit-store.ts` has the same algorithm in SQL.
 */

/** A rate limit: `count` requests at once, and `count` more in each `seconds`. */
export interface Rate {
  readonly count: number
  readonly seconds: number
}

/** Returns the time that one request adds to a bucket, rounded up, so that a bucket never allows more than `count` at once. */
export function intervalMs({ count, seconds }: Rate): number {
  return Math.ceil((seconds * 1000) / count)
}

/** The tolerated difference between the clocks of processes. Without it, a process would refuse the last allowed request. */
const maxSkewMs = 50

/** Returns how far in the future a full bucket is empty. The clock tolerance never admits a further request. */
export function burstMs(rate: Rate): number {
  const interval = intervalMs(rate)
  return interval * rate.count + Math.min(maxSkewMs, Math.floor(interval / 2))
}

export interface Taken {
  readonly isAllowed: boolean
  readonly emptyAt: number
}

/**
 * Takes `count` from the bucket, or nothing. An `emptyAt` beyond a full bucket comes from a clock that was set back; it
 * counts as full.
 */
export function take(emptyAt: number, now: number, rate: Rate, count = 1): Taken {
  const latest = now + burstMs(rate)
  const from = Math.min(Math.max(emptyAt, now), latest)
  const next = from + intervalMs(rate) * count
  return next <= latest ? { isAllowed: true, emptyAt: next } : { isAllowed: false, emptyAt: from }
}

export function isExhausted(emptyAt: number, now: number, rate: Rate): boolean {
  return !take(emptyAt, now, rate).isAllowed
}

/** The state of a bucket as the response headers report it. */
export interface BucketStanding {
  readonly remaining: number
  /** Seconds until the bucket is empty. */
  readonly resetSeconds: number
  /** Seconds until the bucket accepts `count` more, at least 1. */
  readonly retryAfterSeconds: number
}

export function bucketStandingOf(emptyAt: number, now: number, rate: Rate, count = 1): BucketStanding {
  const latest = now + burstMs(rate)
  const from = Math.min(Math.max(emptyAt, now), latest)
  return {
    remaining: Math.floor((latest - from) / intervalMs(rate)),
    resetSeconds: Math.ceil((from - now) / 1000),
    retryAfterSeconds: Math.max(1, Math.ceil((from + intervalMs(rate) * count - latest) / 1000)),
  }
}
