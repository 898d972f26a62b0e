/**
 * Sessions of the revisions with a handshake: what was agreed on, kept in the store, and the answers of clients to
 * requests of the server, which may come to any process. A session authenticates nobody: each request brings its token,
 * and a session of another client is none.
 */
import type { ClientInfo, LogLevel } from '../app/mcp-declarations.ts'
import type { Cancel, Timers } from '../delivery/timers.ts'
import { hashSecret, type SecretHash } from '../secret/hash.ts'
import { randomToken } from '../secret/random.ts'
import type { Store } from '../store/store.ts'
import { type McpAccess, readClientInfo } from './call.ts'
import { McpFailure } from './failure.ts'
import { type Id, isRecord, type Params } from './message.ts'
import { asLegacy, latestLegacy, type LegacyRevision } from './revisions.ts'
import {
  deleteExpiredSessions,
  deleteSession,
  findSession,
  insertAnswer,
  insertSession,
  prolongSession,
  setLogLevel,
  setSubscriptions,
  takeAnswer,
} from './session-store.ts'

export interface Session extends SessionOwner {
  readonly hash: SecretHash
  readonly revision: LegacyRevision
  readonly info: ClientInfo | null
  readonly capabilities: Params
  readonly logLevel: LogLevel | null
  readonly subscriptions: readonly string[]
}

interface SessionOwner {
  readonly actorId: string
  readonly peerId: string
  readonly clientId: string
}

export interface SessionsParts {
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
const prefix = 'ms_'

export class McpSessions {
  readonly #parts: SessionsParts
  readonly #waiting = new Map<string, (body: Params) => void>()

  constructor(parts: SessionsParts) {
    this.#parts = parts
  }

  /** What a header names is a session of ours, or a name that the client made up, which means nothing here. */
  static isOurs(id: string | undefined): id is string {
    return id !== undefined && new RegExp(`^${prefix}[\\w-]{43}$`).test(id)
  }

  /** @returns the id, which is never shown again. */
  async begin(
    access: McpAccess,
    revision: LegacyRevision,
    info: ClientInfo | null,
    capabilities: Params,
  ): Promise<string> {
    const { store, now } = this.#parts
    const id = `${prefix}${randomToken()}`
    await store.write(async (tx) => {
      await deleteExpiredSessions(tx, now())
      await insertSession(tx, {
        hash: hashSecret(id),
        ...ownerOf(access),
        revision,
        client: JSON.stringify({ info, capabilities }),
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
    const { store, now } = this.#parts
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
    return this.#parts.store.write((tx) => deleteSession(tx, session.hash))
  }

  setLogLevel(session: Session, level: LogLevel): Promise<void> {
    return this.#parts.store.write((tx) => setLogLevel(tx, session.hash, level))
  }

  /** @throws McpFailure `invalid_params` beyond what one session may watch. */
  async subscribe(session: Session, uri: string): Promise<void> {
    if (session.subscriptions.includes(uri)) return
    if (session.subscriptions.length >= mostSubscriptions) {
      throw new McpFailure('invalid_params', `A session watches at most ${mostSubscriptions} resources`)
    }
    await this.#parts.store.write((tx) =>
      setSubscriptions(tx, session.hash, JSON.stringify([...session.subscriptions, uri])),
    )
  }

  async unsubscribe(session: Session, uri: string): Promise<void> {
    const rest = session.subscriptions.filter((each) => each !== uri)
    await this.#parts.store.write((tx) => setSubscriptions(tx, session.hash, JSON.stringify(rest)))
  }

  /** The answer of the client to the request of this id, through whichever process it comes; null when none came in time. */
  answerTo(session: Session, requestId: string, signal: AbortSignal): Promise<Params | null> {
    const { store, timers, now } = this.#parts
    const key = `${session.hash} ${requestId}`
    const until = now() + patienceMs
    return new Promise((resolve) => {
      let cancel: Cancel = () => {}
      const finish = (body: Params | null): void => {
        cancel()
        this.#waiting.delete(key)
        signal.removeEventListener('abort', abort)
        resolve(body)
      }
      const abort = (): void => finish(null)
      const look = async (): Promise<void> => {
        const body = await store.write((tx) => takeAnswer(tx, session.hash, requestId)).catch(() => null)
        if (!this.#waiting.has(key)) return
        if (body !== null) finish(JSON.parse(body) as Params)
        else if (now() >= until) finish(null)
        else cancel = timers.setTimer(pollMs, () => void look())
      }
      this.#waiting.set(key, finish)
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
      else cancel = timers.setTimer(pollMs, () => void look())
    })
  }

  /** The client answered; whoever waits for it may be elsewhere. */
  async answered(session: Session, requestId: Id, body: Params): Promise<void> {
    const waiting = this.#waiting.get(`${session.hash} ${requestId}`)
    if (waiting !== undefined) waiting(body)
    else if (isOurRequest(requestId)) {
      await this.#parts.store.write((tx) => insertAnswer(tx, session.hash, requestId, JSON.stringify(body)))
    }
  }
}

export function newRequestId(): string {
  return `rq_${randomToken(16)}`
}

/** What nobody here asked is not kept. */
function isOurRequest(id: Id): id is string {
  return typeof id === 'string' && /^rq_[\w-]{22}$/.test(id)
}

function ownerOf({ actor, caller }: McpAccess): SessionOwner {
  return { actorId: actor.id, peerId: caller.peerId, clientId: caller.clientId }
}
