/**
 * Makes a repeated request take effect once. The response to the first request is kept for a day, and each later request
 * with the same key receives it, without a body that was too large. While the first request runs, the others wait for it.
 */
import { ServiceError } from '../errors.ts'
import type { Operation } from '../permission/operation.ts'
import type { Timers } from '../timers.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import { bindingOf, onceAnswer } from '../secret/sealed-columns.ts'
import type { Store, Transaction } from '../store/store.ts'
import { deleteOnce, deleteOnceBefore, findOnce, insertOnce, type OnceKey, putAnswer } from './idempotency-store.ts'

/** The stored part of a response. */
export interface KeptAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** True when the body or `grants` was too large to keep, or the body was a stream. */
  readonly isTooLarge?: true
  /** The rights that the request used. A repetition needs all of them, because it reads the response. */
  readonly grants?: readonly Operation[]
}

export interface OnceDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly timers: Timers
  /** Unix milliseconds. */
  readonly now: () => number
}

export interface OnceRequest extends OnceKey {
  /** Hash of the request. */
  readonly request: string
}

const keptMs = 86_400_000
/** The largest body that is kept. Of a larger one, only the status and headers are kept. */
const maxKeptBytes = 262_144
const maxKeptGrants = 1000
const cleanMs = 3_600_000
/** Poll interval and number of polls for a request that may run in another process. */
const lookMs = 100
const maxLooks = 100

export class Once {
  readonly #deps: OnceDeps
  #cleanedAt = Number.NEGATIVE_INFINITY

  constructor(deps: OnceDeps) {
    this.#deps = deps
  }

  /**
   * Runs the work of the first request with a key. Later requests receive the stored response.
   *
   * @param work Returns `isKept: true` when it had, or may have had, an effect. Otherwise the request may be retried.
   * @throws ServiceError `key_reused` for a different request with the same key; `conflict` while the first request has
   *   no response. After a crash its outcome is unknown, so the conflict lasts until the key expires.
   */
  async run<A extends KeptAnswer>(
    asked: OnceRequest,
    work: () => Promise<{ readonly answer: A; readonly isKept: boolean }>,
  ): Promise<
    { readonly answer: A; readonly isFirst: true } | { readonly answer: KeptAnswer; readonly isFirst: false }
  > {
    const { store } = this.#deps
    if (!(await this.#begin(asked))) return { answer: await this.#answered(asked), isFirst: false }
    let done: Awaited<ReturnType<typeof work>>
    try {
      done = await work()
    } catch (error) {
      await store.write((tx) => deleteOnce(tx, asked))
      throw error
    }
    const { answer, isKept } = done
    await store.write((tx) => (isKept ? putAnswer(tx, asked, this.#seal(asked, answer)) : deleteOnce(tx, asked)))
    return { answer, isFirst: true }
  }

  /** Deletes expired keys. */
  purge(tx: Transaction, now: number): Promise<void> {
    return deleteOnceBefore(tx, now - keptMs, null)
  }

  async #begin(asked: OnceRequest): Promise<boolean> {
    const { store, keyRing, now } = this.#deps
    const time = now()
    const isDue = Math.abs(time - this.#cleanedAt) >= cleanMs
    if (isDue) this.#cleanedAt = time
    return store.write(async (tx) => {
      if (tx.isSharded) await deleteOnceBefore(tx, time - keptMs, asked.actorId)
      else if (isDue) await this.purge(tx, time)
      const answer = seal(keyRing, '', bindingOf(onceAnswer, asked.actorId, asked.key))
      return insertOnce(tx, asked, { request: asked.request, answer }, time)
    })
  }

  async #answered(asked: OnceRequest): Promise<KeptAnswer> {
    const { store, keyRing, timers } = this.#deps
    for (let looks = 0; looks < maxLooks; looks++) {
      const row = await store.read((q) => findOnce(q, asked))
      if (row === null) break
      if (row.request !== asked.request) throw new ServiceError('key_reused')
      if (row.isAnswered) {
        const text = open(keyRing, row.answer, bindingOf(onceAnswer, asked.actorId, asked.key))
        return JSON.parse(text) as KeptAnswer
      }
      await new Promise<void>((resolve) => void timers.setTimer(lookMs, resolve))
    }
    throw new ServiceError('conflict', 'Cannot answer this request: the first request with its key has no response', {
      retryAfterSeconds: 1,
    })
  }

  #seal({ actorId, key }: OnceKey, answer: KeptAnswer): Sealed {
    return seal(this.#deps.keyRing, JSON.stringify(kept(answer)), bindingOf(onceAnswer, actorId, key))
  }
}

function kept({ status, headers, body, isTooLarge: isStream, grants = [] }: KeptAnswer): KeptAnswer {
  const isTooLarge =
    isStream === true || (body !== null && Buffer.byteLength(body) > maxKeptBytes) || grants.length > maxKeptGrants
  // Without its body, the response has nothing that the rights protect.
  return isTooLarge ? { status, headers, body: null, isTooLarge } : { status, headers, body, grants }
}
