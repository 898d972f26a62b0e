/**
 * The generic cell rate algorithm. All that is kept of a bucket is one number: when it is empty again. Pure; every time
 * is in milliseconds. `limit-store.ts` says the same in SQL.
 */

/** So many at once, and as many again in each span of time. */
export interface Rate {
  readonly count: number
  readonly seconds: number
}

/** Rounded up, so that a bucket never lets more than `count` through at once. */
export function intervalMs({ count, seconds }: Rate): number {
  return Math.ceil((seconds * 1000) / count)
}

/** As much may the clocks of processes differ without one of them refusing the last that the limit allows. */
const mostSkewMs = 50

/** How far ahead of now the emptying of a full bucket may lie. Less than one more fits into the room for skew. */
export function burstMs(rate: Rate): number {
  const interval = intervalMs(rate)
  return interval * rate.count + Math.min(mostSkewMs, Math.floor(interval / 2))
}

export interface Taken {
  readonly isAllowed: boolean
  readonly emptyAt: number
}

/**
 * Takes so many, or none. A time further ahead than a full bucket comes from a clock that was set back: it counts as
 * full.
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

/** What a client is told of a bucket. */
export interface BucketStanding {
  readonly remaining: number
  /** Seconds until it is empty. */
  readonly resetSeconds: number
  /** Seconds until it takes as many more as are asked for, at least 1. */
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
