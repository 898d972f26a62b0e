/** Answers of clients to requests of the server. An answer may come to any process, so the store passes it on. */
import { ServiceError } from '../../errors.ts'
import type { SecretHash } from '../../secret/hash.ts'
import { randomToken } from '../../secret/random.ts'
import type { Store } from '../../store/store.ts'
import type { Cancel, Timers } from '../../timers.ts'
import type { Id, MessageParams } from '../protocol/message.ts'
import { hasAnswer, insertAnswer, takeAnswer } from './session-store.ts'
import type { Session } from './session.ts'

export interface ClientAnswersDeps {
  readonly store: Store
  readonly timers: Timers
  readonly now: () => number
}

/** How long a person may take to answer, in milliseconds. */
const patienceMs = 15 * 60_000
/** How often a waiting call looks for an answer that came to another process, in milliseconds. */
const pollMs = 500
/** Requests of one session that wait at the same time, and answers that the store keeps for it. */
const maxRequests = 20
const requestIdForm = /^rq_[\w-]{22}$/

type Resolve = (body: MessageParams) => void

export class ClientAnswers {
  readonly #deps: ClientAnswersDeps
  /** Of each session, by the id of the request. */
  readonly #waiting = new Map<SecretHash, Map<string, Resolve>>()

  constructor(deps: ClientAnswersDeps) {
    this.#deps = deps
  }

  /**
   * The client's answer to the request of this id, through whichever process it comes. Null when none came in time.
   *
   * @throws ServiceError `too_many_requests` for a session in which too many requests wait.
   */
  waitFor(session: Session, requestId: string, signal: AbortSignal): Promise<MessageParams | null> {
    const requests = this.#waiting.get(session.hash) ?? new Map<string, Resolve>()
    if (requests.size >= maxRequests) {
      throw new ServiceError('too_many_requests', 'Cannot ask the client: too many questions wait for an answer', {
        retryAfterSeconds: 60,
      })
    }
    this.#waiting.set(session.hash, requests)
    return new Promise((resolve) => {
      let cancelPoll: Cancel = () => {}
      const finish = (body: MessageParams | null): void => {
        cancelPoll()
        requests.delete(requestId)
        if (requests.size === 0) this.#waiting.delete(session.hash)
        signal.removeEventListener('abort', abort)
        resolve(body)
      }
      const abort = (): void => finish(null)
      requests.set(requestId, finish)
      signal.addEventListener('abort', abort)
      if (signal.aborted) return abort()
      cancelPoll = this.#poll(session.hash, requestId, () => requests.has(requestId), finish)
    })
  }

  /** The client answered a request that may wait in another process. An id that no server issued is ignored. */
  async put(session: Session, requestId: Id, body: MessageParams): Promise<void> {
    if (typeof requestId !== 'string' || !requestIdForm.test(requestId)) return
    const resolve = this.#waiting.get(session.hash)?.get(requestId)
    if (resolve !== undefined) return resolve(body)
    await this.#deps.store.write((tx) => insertAnswer(tx, session.hash, requestId, JSON.stringify(body), maxRequests))
  }

  /** Looks for the answer in the store until it comes, the patience ends, or the caller stops waiting. */
  #poll(
    session: SecretHash,
    requestId: string,
    isWaiting: () => boolean,
    finish: (body: MessageParams | null) => void,
  ): Cancel {
    const { timers, now } = this.#deps
    const until = now() + patienceMs
    let cancel: Cancel = () => {}
    const later = (): void => {
      cancel = timers.setTimer(pollMs, () => void look())
    }
    const look = async (): Promise<void> => {
      const body = await this.#take(session, requestId).catch(() => null)
      if (!isWaiting()) return
      if (body !== null) finish(JSON.parse(body) as MessageParams)
      else if (now() >= until) finish(null)
      else later()
    }
    later()
    return () => cancel()
  }

  async #take(session: SecretHash, requestId: string): Promise<string | null> {
    const { store } = this.#deps
    const isThere = await store.read((q) => hasAnswer(q, session, requestId))
    return isThere ? store.write((tx) => takeAnswer(tx, session, requestId)) : null
  }
}

export function newRequestId(): string {
  return `rq_${randomToken(16)}`
}
