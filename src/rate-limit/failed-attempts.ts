/**
 * Wrong credentials are counted, right ones are not: who knows the passphrase pays nothing for this. Whoever guessed too
 * often is not even told whether the next guess is right. An actor that many guess at stays open to its owner: only
 * senders that have failed there themselves are refused then.
 */
import type { ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Store } from '../store/store.ts'
import { Buckets } from './buckets.ts'
import { isExhausted, type Rate, bucketStandingOf, type Taken } from './gcra.ts'
import { keyOf, tooMany } from './limiter.ts'
import { findBuckets, guardActor, takeStored } from './limit-store.ts'
import type { LimitKey, Rates } from './rates.ts'

export type Guessed = 'passphrase' | 'secret'

/** The actor as it was read for this request. */
export interface Target {
  readonly id: string
  /** Unix milliseconds; until then the stored buckets are looked at, because another process may have filled them. */
  readonly guardedUntil: number
}

/** The address of the sender, asked for only where it matters. */
export type Source = () => string | null

export interface GuessesDeps {
  readonly store: Store
  readonly rates: Rates
  readonly now: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'limitRefused'>
}

interface Bucket {
  readonly limit: LimitKey
  readonly key: string
  readonly rate: Rate
}

interface Guarded {
  readonly pair: Bucket | null
  readonly source: Bucket | null
  readonly target: Bucket | null
}

const complainEveryMs = 60_000

export class Guesses {
  readonly #deps: GuessesDeps
  readonly #failures = new Buckets()
  #complainedAt = Number.NEGATIVE_INFINITY
  #unheard = 0

  constructor(deps: GuessesDeps) {
    this.#deps = deps
  }

  /**
   * Whether another guess may be judged; what follows at once, without waiting in between, is counted exactly.
   *
   * @throws ServiceError `too_many_requests`
   */
  check(kind: Guessed, target: Target, source: Source): Promise<void> | undefined {
    if (target.guardedUntil > this.#deps.now()) return this.#checkStored(kind, target, source)
    if (this.#failures.size > 0) this.#refuseExhausted(this.#guarded(kind, target.id, source()))
    return undefined
  }

  /**
   * Judges one guess: of many at once no more are judged than are allowed.
   *
   * @throws ServiceError `too_many_requests`, whether it is right or not.
   */
  async judge(kind: Guessed, target: Target, source: Source, isRight: () => boolean): Promise<boolean> {
    const waiting = this.check(kind, target, source)
    // From here to the count nothing waits.
    if (waiting !== undefined) await waiting
    if (isRight()) return true
    await this.failed(kind, target, source)
    return false
  }

  /**
   * Counts a wrong guess.
   *
   * @throws ServiceError `too_many_requests` when other processes have counted as many as are allowed already.
   */
  async failed(kind: Guessed, target: Target, source: Source): Promise<void> {
    const { now } = this.#deps
    const buckets = bucketsOf(this.#guarded(kind, target.id, source()))
    if (buckets.length === 0) return
    const counted = buckets.map(({ key, rate }) => this.#failures.take(key, now(), rate))
    const stored = await this.#store(buckets, target)
    for (const [index, bucket] of buckets.entries()) {
      const taken = stored?.[index] ?? counted[index]
      if (taken === undefined) continue
      this.#failures.raise(bucket.key, taken.emptyAt, now())
      if (!taken.isAllowed) throw this.#refusal(bucket)
    }
  }

  /** Null while the store fails: this process counts alone then. */
  async #store(buckets: readonly Bucket[], target: Target): Promise<readonly Taken[] | null> {
    const { store, now } = this.#deps
    try {
      return await store.write(
        async (tx) => {
          const all: Taken[] = []
          let guardedUntil = 0
          for (const { key, rate } of buckets) {
            const taken = await takeStored(tx, key, now(), rate)
            all.push(taken)
            if (isExhausted(taken.emptyAt, now(), rate)) guardedUntil = Math.max(guardedUntil, taken.emptyAt)
          }
          if (guardedUntil > 0) await guardActor(tx, target.id, guardedUntil)
          return all
        },
        { turn: buckets.at(-1)?.key, durability: 'relaxed' },
      )
    } catch (error) {
      this.#complain(error)
      return null
    }
  }

  async #checkStored(kind: Guessed, target: Target, source: Source): Promise<void> {
    const { store, now } = this.#deps
    const guarded = this.#guarded(kind, target.id, source())
    try {
      const keys = bucketsOf(guarded).map(({ key }) => key)
      for (const [key, emptyAt] of await store.read((q) => findBuckets(q, keys))) {
        this.#failures.raise(key, emptyAt, now())
      }
    } catch (error) {
      this.#complain(error)
    }
    this.#refuseExhausted(guarded)
  }

  #refuseExhausted({ pair, source, target }: Guarded): void {
    const isFull = (bucket: Bucket | null): bucket is Bucket =>
      bucket !== null && this.#failures.isExhausted(bucket.key, this.#deps.now(), bucket.rate)
    const full = [pair, source].find(isFull)
    if (full !== undefined) throw this.#refusal(full)
    const hasFailed = pair === null || this.#failures.emptyAt(pair.key) > this.#deps.now()
    if (hasFailed && isFull(target)) throw this.#refusal(target)
  }

  #refusal({ limit, key, rate }: Bucket): ServiceError {
    this.#deps.metrics.limitRefused(limit)
    const now = this.#deps.now()
    return tooMany(limit, rate, bucketStandingOf(this.#failures.emptyAt(key), now, rate))
  }

  #guarded(kind: Guessed, actorId: string, source: string | null): Guarded {
    const bucket = (limit: LimitKey, of: string): Bucket | null => {
      const rate = this.#deps.rates[limit]
      return rate === null ? null : { limit, rate, key: keyOf(limit, of) }
    }
    return {
      pair: source === null ? null : bucket(`${kind}/pair`, `${source}\n${actorId}`),
      source: source === null ? null : bucket(`${kind}/source`, source),
      target: bucket(`${kind}/target`, actorId),
    }
  }

  /** Repeated events are counted, not repeated. */
  #complain(error: unknown): void {
    const { now, log } = this.#deps
    this.#unheard += 1
    if (Math.abs(now() - this.#complainedAt) < complainEveryMs) return
    log.warn(
      { error, times: this.#unheard },
      'Wrong credentials are counted by this process alone: the store cannot be used',
    )
    this.#complainedAt = now()
    this.#unheard = 0
  }
}

function bucketsOf({ pair, source, target }: Guarded): readonly Bucket[] {
  return [pair, source, target].filter((bucket) => bucket !== null)
}
