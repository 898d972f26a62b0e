/** Answers of clients to requests of the server. Any process may receive an answer, so the store passes it on. */
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

/** Time limit for an answer of a person, in milliseconds. */
const patienceMs = 15 * 60_000
/** Poll interval for an answer that another process received, in milliseconds. */
const pollMs = 500
/** The most waiting requests of one session, and the most answers that the store keeps for it. */
const maxRequests = 20
const requestIdForm = /^rq_[\w-]{22}$/

type Resolve = (body: MessageParams) => void

export class ClientAnswers {
  readonly #deps: ClientAnswersDeps
  /** The waiting requests of each session, by request id. */
  readonly #waiting = new Map<SecretHash, Map<string, Resolve>>()

  constructor(deps: ClientAnswersDeps) {
    this.#deps = deps
  }

  /**
   * The client's answer to the request with this id, from any process. Null when no answer arrived in time.
   *
   * @throws ServiceError `too_many_requests` for a session with too many waiting requests.
   */
  waitFor(session: Session, requestId: string, signal: AbortSignal): Promise<MessageParams | null> {
    const requests = this.#waiting.get(session.hash) ?? new Map<string, Resolve>()
    if (requests.size >= maxRequests) {
      throw new ServiceError(
        'too_many_requests',
        'Cannot ask the client: too many questions are waiting for an answer',
        {
          retryAfterSeconds: 60,
        },
      )
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
      cancelPoll = this.#poll(session, requestId, () => requests.has(requestId), finish)
    })
  }

  /** Stores an answer for a request that may wait in another process. An answer with a foreign id is ignored. */
  async put(session: Session, requestId: Id, body: MessageParams): Promise<void> {
    if (typeof requestId !== 'string' || !requestIdForm.test(requestId)) return
    const resolve = this.#waiting.get(session.hash)?.get(requestId)
    if (resolve !== undefined) return resolve(body)
    await this.#deps.store.write((tx) => insertAnswer(tx, session, requestId, JSON.stringify(body), maxRequests))
  }

  /** Polls the store until the answer arrives, the time limit passes, or the caller stops waiting. */
  #poll(
    session: Session,
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

  async #take(session: Session, requestId: string): Promise<string | null> {
    const { store } = this.#deps
    const isThere = await store.read((q) => hasAnswer(q, session, requestId))
    return isThere ? store.write((tx) => takeAnswer(tx, session, requestId)) : null
  }
}

export function newRequestId(): string {
  return `rq_${randomToken(16)}`
}
