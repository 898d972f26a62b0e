/**
 * A request that has its effect once, however often it is sent: what the first one was answered is kept for a day, and is
 * what every other one with the same key is answered, unless it was too large. While the first one runs the others wait
 * for it.
 */
import { ServiceError } from '../errors.ts'
import type { Timers } from '../timers.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import { bindingOf, onceAnswer } from '../secret/sealed-columns.ts'
import type { Store } from '../store/store.ts'
import { deleteOnce, deleteOnceBefore, findOnce, insertOnce, type OnceKey, putAnswer } from './idempotency-store.ts'

/** What is kept of an answer. */
export interface KeptAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** There was a body; it was not kept. */
  readonly isTooLarge?: true
}

export interface OnceDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly timers: Timers
  /** Unix milliseconds. */
  readonly now: () => number
}

export interface OnceRequest extends OnceKey {
  /** Hash of all that it asks for. */
  readonly request: string
}

const keptMs = 86_400_000
/** Of an answer's body. What is larger is told to have been answered, and no more. */
const mostKeptBytes = 262_144
const cleanMs = 3_600_000
/** Another process may be at it: looked for so often, and so many times. */
const lookMs = 100
const mostLooks = 100

export class Once {
  readonly #deps: OnceDeps
  #cleanedAt = Number.NEGATIVE_INFINITY

  constructor(deps: OnceDeps) {
    this.#deps = deps
  }

  /**
   * @param work Says by `isKept` whether it had, or may have had, an effect; what had none may be tried again.
   * @throws ServiceError `key_reused` for another request than the first one; `conflict` while the first one has no
   *   answer, which for one that died with its process is for ever: nobody knows what became of it.
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

  async #begin(asked: OnceRequest): Promise<boolean> {
    const { store, keyRing, now } = this.#deps
    const time = now()
    const isDue = Math.abs(time - this.#cleanedAt) >= cleanMs
    if (isDue) this.#cleanedAt = time
    return store.write(async (tx) => {
      if (isDue) await deleteOnceBefore(tx, time - keptMs)
      const answer = seal(keyRing, '', bindingOf(onceAnswer, asked.actorId, asked.key))
      return insertOnce(tx, asked, { request: asked.request, answer }, time)
    })
  }

  async #answered(asked: OnceRequest): Promise<KeptAnswer> {
    const { store, keyRing, timers } = this.#deps
    for (let looks = 0; looks < mostLooks; looks++) {
      const row = await store.read((q) => findOnce(q, asked))
      if (row === null) break
      if (row.request !== asked.request) throw new ServiceError('key_reused')
      if (row.isAnswered) {
        const text = open(keyRing, row.answer, bindingOf(onceAnswer, asked.actorId, asked.key))
        return JSON.parse(text) as KeptAnswer
      }
      await new Promise<void>((resolve) => void timers.setTimer(lookMs, resolve))
    }
    throw new ServiceError('conflict', 'Cannot answer this request: the first one with its key has no answer', {
      retryAfterSeconds: 1,
    })
  }

  #seal({ actorId, key }: OnceKey, answer: KeptAnswer): Sealed {
    return seal(this.#deps.keyRing, JSON.stringify(kept(answer)), bindingOf(onceAnswer, actorId, key))
  }
}

function kept({ status, headers, body }: KeptAnswer): KeptAnswer {
  const isTooLarge = body !== null && Buffer.byteLength(body) > mostKeptBytes
  return isTooLarge ? { status, headers, body: null, isTooLarge } : { status, headers, body }
}
