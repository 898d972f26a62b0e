/**
 * Limits failed authentication. Only wrong credentials count, so the owner pays nothing. After too many failures, a sender
 * gets 429 without a check of the credential. An actor under attack stays available to its owner: the limit of the actor
 * refuses only senders that have failed there themselves.
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
import { sourceBuckets } from './source.ts'

export type FailedAttempt = 'passphrase' | 'secret'

/** The actor that a credential is checked against, as read for this request. */
export interface Target {
  readonly id: string
  /** Until this time (Unix milliseconds), attempts read the stored buckets, because another process may have filled them. */
  readonly guardedUntil: number
}

/** Returns the address of the sender. Called only when the address is needed. */
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
  /** The sender; behind an unknown proxy also the connection. */
  readonly source: readonly Bucket[]
  readonly target: Bucket | null
}

/** The message of the log lines that tools such as fail2ban look for. */
export const failedSignIn = 'Failed sign-in'

const complainEveryMs = 60_000

export class FailedAttempts {
  readonly #deps: GuessesDeps
  readonly #failures = new Buckets()
  #complainedAt = Number.NEGATIVE_INFINITY
  #unheard = 0

  constructor(deps: GuessesDeps) {
    this.#deps = deps
  }

  /** Forgets the failures that this process knows. The next failure reads those of the store. */
  forget(): void {
    this.#failures.clear()
  }

  /**
   * Refuses a sender that has too many failures. A count that follows without an `await` in between is exact.
   *
   * @throws ServiceError `too_many_requests`
   */
  check(kind: FailedAttempt, target: Target, source: Source): Promise<void> | undefined {
    if (target.guardedUntil > this.#deps.now()) return this.#checkStored(kind, target, source)
    if (this.#failures.size > 0) this.#refuseExhausted(this.#guarded(kind, target.id, source()))
    return undefined
  }

  /**
   * Checks one credential and counts a failure. Concurrent requests cannot exceed the limit.
   *
   * @throws ServiceError `too_many_requests`, whether the credential is right or wrong.
   */
  judge(kind: FailedAttempt, target: Target, source: Source, isRight: () => boolean): Promise<boolean> | boolean {
    const judged = (): Promise<boolean> | boolean => isRight() || this.failed(kind, target, source).then(() => false)
    // No other request can run between this check and the count in `failed`.
    return this.check(kind, target, source)?.then(judged) ?? judged()
  }

  /**
   * Counts a wrong credential.
   *
   * @throws ServiceError `too_many_requests` when the failures of all processes exceed the limit.
   */
  async failed(kind: FailedAttempt, target: Target, source: Source): Promise<void> {
    const { now, log } = this.#deps
    const address = source()
    log.info({ address, method: kind, actorId: target.id }, failedSignIn)
    const buckets = bucketsOf(this.#guarded(kind, target.id, address))
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

  /** Returns null when the store fails. This process then counts alone. */
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

  async #checkStored(kind: FailedAttempt, target: Target, source: Source): Promise<void> {
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
    const full = [pair, ...source].find(isFull)
    if (full !== undefined) throw this.#refusal(full)
    const hasFailed = pair === null || this.#failures.emptyAt(pair.key) > this.#deps.now()
    if (hasFailed && isFull(target)) throw this.#refusal(target)
  }

  #refusal({ limit, key, rate }: Bucket): ServiceError {
    this.#deps.metrics.limitRefused(limit)
    const now = this.#deps.now()
    return tooMany(limit, rate, bucketStandingOf(this.#failures.emptyAt(key), now, rate))
  }

  #guarded(kind: FailedAttempt, actorId: string, source: string | null): Guarded {
    const bucket = (limit: LimitKey, of: string): Bucket | null => {
      const rate = this.#deps.rates[limit]
      return rate === null ? null : { limit, rate, key: keyOf(limit, of) }
    }
    return {
      pair: source === null ? null : bucket(`${kind}/pair`, `${source}\n${actorId}`),
      source: source === null ? [] : this.#ofSource(`${kind}/source`, source),
      target: bucket(`${kind}/target`, actorId),
    }
  }

  #ofSource(limit: LimitKey, source: string): readonly Bucket[] {
    const rate = this.#deps.rates[limit]
    if (rate === null) return []
    return sourceBuckets(source, rate).map((owner) => ({ limit, rate: owner.rate, key: keyOf(limit, owner.of) }))
  }

  /** Logs at most one warning a minute, with the number of failures since the last one. */
  #complain(error: unknown): void {
    const { now, log } = this.#deps
    this.#unheard += 1
    if (Math.abs(now() - this.#complainedAt) < complainEveryMs) return
    log.warn(
      { error, times: this.#unheard },
      'Cannot count wrong credentials for all processes: the store cannot be used. This process counts alone',
    )
    this.#complainedAt = now()
    this.#unheard = 0
  }
}

function bucketsOf({ pair, source, target }: Guarded): readonly Bucket[] {
  return [pair, ...source, target].filter((bucket) => bucket !== null)
}
