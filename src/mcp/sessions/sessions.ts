/**
 * Sessions of the revisions with a handshake, in the store. A session id is not a credential: each request has its own
 * token, and a session is visible only to its own client.
 */
import type { ClientInfo, LogLevel } from '../../app/mcp-declarations.ts'
import type { Timers } from '../../timers.ts'
import { hashSecret, type SecretHash } from '../../secret/hash.ts'
import { randomToken } from '../../secret/random.ts'
import type { Store } from '../../store/store.ts'
import { type McpAccess, readClientInfo } from '../call/call.ts'
import { McpFailure } from '../protocol/failure.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import { asLegacy, latestLegacy, type LegacyRevision } from '../protocol/revisions.ts'
import { ClientAnswers } from './client-answers.ts'
import type { Session, SessionOwner } from './session.ts'
import {
  deleteExpiredSessions,
  deleteOldSessions,
  deleteSession,
  findSession,
  insertSession,
  prolongSession,
  storeLogLevel,
  setSubscriptions,
} from './session-store.ts'

interface SessionsDeps {
  readonly store: Store
  readonly timers: Timers
  readonly now: () => number
}

const lifetimeMs = 24 * 3_600_000
/** Minimum interval between two extensions of a session by requests, in milliseconds. It avoids a write per request. */
const prolongAfterMs = 3_600_000
const maxSubscriptions = 500
/** The most sessions of one client. Another session ends the least recently used one. */
const maxSessions = 20
const longestClient = 16_384
const idForm = /^ms_[\w-]{43}$/

export class McpSessions {
  readonly #deps: SessionsDeps
  /** Answers of clients to requests of the server. */
  readonly answers: ClientAnswers

  constructor(deps: SessionsDeps) {
    this.#deps = deps
    this.answers = new ClientAnswers(deps)
  }

  /** True for the format of ids that this server issues. */
  static isOurs(id: string): boolean {
    return idForm.test(id)
  }

  /**
   * Begins a session and returns its id. The store keeps only the hash of the id.
   *
   * @throws McpFailure `invalid_params` for a client whose info and capabilities are too long.
   */
  async begin(
    access: McpAccess,
    revision: LegacyRevision,
    info: ClientInfo | null,
    capabilities: MessageParams,
  ): Promise<string> {
    const { store, now } = this.#deps
    const id = `ms_${randomToken()}`
    const owner = ownerOf(access)
    const client = JSON.stringify({ info, capabilities })
    if (client.length > longestClient)
      throw new McpFailure('invalid_params', 'Cannot begin a session: clientInfo and capabilities are too long')
    await store.write(async (tx) => {
      await deleteExpiredSessions(tx, now(), tx.isSharded ? owner.actorId : null)
      await deleteOldSessions(tx, owner, maxSessions - 1)
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

  /** The session with this id. Null when it ended, does not exist, or belongs to another client. */
  find(id: string, access: McpAccess): Promise<Session | null> {
    return this.#find(hashSecret(id), ownerOf(access))
  }

  /** The current state of the session. Null when it ended. */
  reload(session: Session): Promise<Session | null> {
    return this.#find(session.hash, session)
  }

  async #find(hash: SecretHash, owner: SessionOwner): Promise<Session | null> {
    const { store, now } = this.#deps
    const row = await store.read((q) => findSession(q, hash, owner))
    if (row === null || row.expiresAt < now()) return null
    if (row.expiresAt - now() < lifetimeMs - prolongAfterMs) {
      await store.write((tx) => prolongSession(tx, row, now() + lifetimeMs))
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
    return this.#deps.store.write((tx) => deleteSession(tx, session))
  }

  setLogLevel(session: Session, level: LogLevel): Promise<void> {
    return this.#deps.store.write((tx) => storeLogLevel(tx, session, level))
  }

  /** @throws McpFailure `invalid_params` for too many subscriptions of one session. */
  subscribe(session: Session, uri: string): Promise<void> {
    return this.#changeSubscriptions(session, (uris) => {
      if (uris.includes(uri)) return uris
      if (uris.length >= maxSubscriptions) {
        throw new McpFailure(
          'invalid_params',
          `Cannot subscribe: a session may watch at most ${maxSubscriptions} resources`,
        )
      }
      return [...uris, uri]
    })
  }

  unsubscribe(session: Session, uri: string): Promise<void> {
    return this.#changeSubscriptions(session, (uris) => uris.filter((each) => each !== uri))
  }

  /** Runs under the actor's lock, so that concurrent changes are both kept. */
  #changeSubscriptions(session: Session, change: (uris: readonly string[]) => readonly string[]): Promise<void> {
    return this.#deps.store.writeActor(session.actorId, async (tx) => {
      const row = await findSession(tx, session.hash, session)
      if (row === null) return
      const uris = JSON.parse(row.subscriptions) as string[]
      await setSubscriptions(tx, session, JSON.stringify(change(uris)))
    })
  }
}

function ownerOf({ actor, caller }: McpAccess): SessionOwner {
  return { actorId: actor.id, peerId: caller.peerId, clientId: caller.clientId }
}
