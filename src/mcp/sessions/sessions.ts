/**
 * Sessions of the revisions with a handshake: what was agreed on, kept in the store, and the answers of clients to
 * requests of the server, which may come to any process. A session authenticates nobody: each request brings its token,
 * and a session of another client is none.
 */
import type { ClientInfo, LogLevel } from '../../app/mcp-declarations.ts'
import type { Cancel, Timers } from '../../timers.ts'
import { ServiceError } from '../../errors.ts'
import { hashSecret, type SecretHash } from '../../secret/hash.ts'
import { randomToken } from '../../secret/random.ts'
import type { Store } from '../../store/store.ts'
import { type McpAccess, readClientInfo } from '../call/call.ts'
import { McpFailure } from '../protocol/failure.ts'
import { type Id, isRecord, type Params } from '../protocol/message.ts'
import { asLegacy, latestLegacy, type LegacyRevision } from '../protocol/revisions.ts'
import type { Session, SessionOwner } from './session.ts'
import {
  deleteExpiredSessions,
  deleteOldSessions,
  deleteSession,
  findSession,
  hasAnswer,
  insertAnswer,
  insertSession,
  prolongSession,
  setLogLevel,
  setSubscriptions,
  takeAnswer,
} from './session-store.ts'

export interface SessionsDeps {
  readonly store: Store
  readonly timers: Timers
  readonly now: () => number
}

const lifetimeMs = 24 * 3_600_000
/** A session is prolonged when so much of its life is over. */
const prolongAfterMs = 3_600_000
/** How long a person may take to answer. */
const patienceMs = 15 * 60_000
/** How long an answer that came to another process may lie. */
const pollMs = 500
const mostSubscriptions = 500
/** Of one client; beyond them the one that was used longest ago ends. */
const mostSessions = 20
/** Of one session, at once; and so many answers may lie. */
const mostQuestions = 20
const longestClient = 16_384
const idForm = /^ms_[\w-]{43}$/

export class McpSessions {
  readonly #deps: SessionsDeps
  /** Of each session, by the id of the request. */
  readonly #waiting = new Map<SecretHash, Map<string, (body: Params) => void>>()

  constructor(deps: SessionsDeps) {
    this.#deps = deps
  }

  /** What a header names is a session of ours, or a name that the client made up, which means nothing here. */
  static isOurs(id: string | undefined): id is string {
    return id !== undefined && idForm.test(id)
  }

  /**
   * @returns the id, which is never shown again.
   * @throws McpFailure `invalid_params` for a client that tells more of itself than is kept.
   */
  async begin(
    access: McpAccess,
    revision: LegacyRevision,
    info: ClientInfo | null,
    capabilities: Params,
  ): Promise<string> {
    const { store, now } = this.#deps
    const id = `ms_${randomToken()}`
    const owner = ownerOf(access)
    const client = JSON.stringify({ info, capabilities })
    if (client.length > longestClient) throw new McpFailure('invalid_params', 'The capabilities are too long')
    await store.write(async (tx) => {
      await deleteExpiredSessions(tx, now())
      await deleteOldSessions(tx, owner, mostSessions - 1)
      await insertSession(tx, {
        hash: hashSecret(id),
        ...owner,
        revision,
        client,
        logLevel: '',
        subscriptions: '[]',
        expiresAt: now() + lifetimeMs,
      })
    })
    return id
  }

  /** Null for one that ended, never was, or is another client's. */
  find(id: string, access: McpAccess): Promise<Session | null> {
    return this.#find(hashSecret(id), ownerOf(access))
  }

  /** As it is now; null when it ended meanwhile. */
  again(session: Session): Promise<Session | null> {
    return this.#find(session.hash, session)
  }

  async #find(hash: SecretHash, owner: SessionOwner): Promise<Session | null> {
    const { store, now } = this.#deps
    const row = await store.read((q) => findSession(q, hash, owner))
    if (row === null || row.expiresAt < now()) return null
    if (row.expiresAt - now() < lifetimeMs - prolongAfterMs) {
      await store.write((tx) => prolongSession(tx, row.hash, now() + lifetimeMs))
    }
    const client: unknown = JSON.parse(row.client)
    const { info, capabilities } = isRecord(client) ? client : {}
    return {
      hash: row.hash,
      actorId: row.actorId,
      peerId: row.peerId,
      clientId: row.clientId,
      revision: asLegacy(row.revision) ?? latestLegacy,
      info: readClientInfo(info),
      capabilities: isRecord(capabilities) ? capabilities : {},
      logLevel: row.logLevel === '' ? null : (row.logLevel as LogLevel),
      subscriptions: JSON.parse(row.subscriptions) as string[],
    }
  }

  end(session: Session): Promise<void> {
    return this.#deps.store.write((tx) => deleteSession(tx, session.hash))
  }

  setLogLevel(session: Session, level: LogLevel): Promise<void> {
    return this.#deps.store.write((tx) => setLogLevel(tx, session.hash, level))
  }

  /** @throws McpFailure `invalid_params` beyond what one session may watch. */
  subscribe(session: Session, uri: string): Promise<void> {
    return this.#changeSubscriptions(session, (uris) => {
      if (uris.includes(uri)) return uris
      if (uris.length >= mostSubscriptions) {
        throw new McpFailure('invalid_params', `A session watches at most ${mostSubscriptions} resources`)
      }
      return [...uris, uri]
    })
  }

  unsubscribe(session: Session, uri: string): Promise<void> {
    return this.#changeSubscriptions(session, (uris) => uris.filter((each) => each !== uri))
  }

  /** In the actor's turn, so that two at once are both kept. */
  #changeSubscriptions(session: Session, change: (uris: readonly string[]) => readonly string[]): Promise<void> {
    return this.#deps.store.writeActor(session.actorId, async (tx) => {
      const row = await findSession(tx, session.hash, session)
      if (row === null) return
      const uris = JSON.parse(row.subscriptions) as string[]
      await setSubscriptions(tx, session.hash, JSON.stringify(change(uris)))
    })
  }

  /**
   * The answer of the client to the request of this id, through whichever process it comes; null when none came in time.
   *
   * @throws ServiceError `too_many_requests` for a session in which too many questions wait.
   */
  answerTo(session: Session, requestId: string, signal: AbortSignal): Promise<Params | null> {
    const { timers, now } = this.#deps
    const questions = this.#waiting.get(session.hash) ?? new Map<string, (body: Params) => void>()
    if (questions.size >= mostQuestions) {
      throw new ServiceError('too_many_requests', 'Cannot ask the client: too many questions wait for an answer', {
        retryAfterSeconds: 60,
      })
    }
    const until = now() + patienceMs
    return new Promise((resolve) => {
      let cancel: Cancel = () => {}
      const finish = (body: Params | null): void => {
        cancel()
        questions.delete(requestId)
        if (questions.size === 0) this.#waiting.delete(session.hash)
        signal.removeEventListener('abort', abort)
        resolve(body)
      }
      const abort = (): void => finish(null)
      const look = async (): Promise<void> => {
        const body = await this.#taken(session.hash, requestId).catch(() => null)
        if (!questions.has(requestId)) return
        if (body !== null) finish(JSON.parse(body) as Params)
        else if (now() >= until) finish(null)
        else cancel = timers.setTimer(pollMs, () => void look())
      }
      questions.set(requestId, finish)
      this.#waiting.set(session.hash, questions)
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
      else cancel = timers.setTimer(pollMs, () => void look())
    })
  }

  async #taken(session: SecretHash, requestId: string): Promise<string | null> {
    const { store } = this.#deps
    const isThere = await store.read((q) => hasAnswer(q, session, requestId))
    return isThere ? store.write((tx) => takeAnswer(tx, session, requestId)) : null
  }

  /** The client answered; whoever waits for it may be elsewhere. */
  async answered(session: Session, requestId: Id, body: Params): Promise<void> {
    // What nobody here asked is not kept.
    if (typeof requestId !== 'string' || !requestForm.test(requestId)) return
    const waiting = this.#waiting.get(session.hash)?.get(requestId)
    if (waiting !== undefined) waiting(body)
    else {
      await this.#deps.store.write((tx) =>
        insertAnswer(tx, session.hash, requestId, JSON.stringify(body), mostQuestions),
      )
    }
  }
}

const requestForm = /^rq_[\w-]{22}$/

export function newRequestId(): string {
  return `rq_${randomToken(16)}`
}

function ownerOf({ actor, caller }: McpAccess): SessionOwner {
  return { actorId: actor.id, peerId: caller.peerId, clientId: caller.clientId }
}
