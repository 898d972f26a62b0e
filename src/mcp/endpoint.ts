/** The endpoint `/mcp` for both eras of the protocol: reads a request body and returns a reply. */
import { ServiceError } from '../errors.ts'
import type { McpAccess } from './call/call.ts'
import type { Codec } from './codecs/codec.ts'
import { legacyCodec } from './codecs/legacy.ts'
import { modernCodec } from './codecs/modern.ts'
import type { McpDeps } from './deps.ts'
import { McpDispatcher, type McpConnection } from './dispatcher.ts'
import { isHandshake } from './methods.ts'
import { McpOffers } from './offers.ts'
import { type Id, type Malformed, type Message, readBody } from './protocol/message.ts'
import { metaKeys, metaOf } from './protocol/meta.ts'
import { accepted, json, type Reply, rpcError } from './protocol/reply.ts'
import { asLegacy, type LegacyRevision, since } from './protocol/revisions.ts'
import { lateError, withId } from './protocol/service-error.ts'
import { eraOf, judgeModern, legacyRevisionOf } from './protocol-version.ts'
import { legacyRequest, type McpHeaders, modernRequest } from './request.ts'
import { sessionEvents } from './sessions/session-events.ts'
import type { Session } from './sessions/session.ts'
import { McpSessions } from './sessions/sessions.ts'
import { Streams } from './streams.ts'

/** The client that sent a message, and its connection. */
export interface McpRequester extends McpConnection {
  readonly access: McpAccess
  /** Counts messages of the client. @throws ServiceError `too_many_requests` */
  readonly count: (messages: number) => void
}

const maxBatchSize = 50

export class McpEndpoint {
  /** Lists what the application offers to AI clients, for the pages. */
  readonly offers: McpOffers
  readonly #deps: McpDeps
  readonly #streams = new Streams()
  readonly #dispatcher: McpDispatcher
  readonly #modern: Codec

  constructor(deps: McpDeps) {
    this.#deps = deps
    this.offers = new McpOffers(deps)
    this.#dispatcher = new McpDispatcher(deps, this.#streams)
    this.#modern = modernCodec(deps.server)
  }

  /** @throws ServiceError for errors that determine the HTTP status (503, 429). */
  async post(text: string, headers: McpHeaders, requester: McpRequester): Promise<Reply> {
    const body = readBody(text)
    try {
      // A batch that is too large counts like the largest allowed batch.
      requester.count(body.kind === 'batch' ? Math.max(1, Math.min(body.entries.length, maxBatchSize)) : 1)
      switch (body.kind) {
        case 'malformed':
          return malformed(body)
        case 'batch':
          return await this.#batch(body.entries, headers, requester)
        default:
          return await this.#message(body, headers, requester)
      }
    } catch (error) {
      throw withId(error, body.kind === 'batch' || body.kind === 'notification' ? undefined : body.id)
    }
  }

  /**
   * Opens the stream of a session, with changes of lists and resources. Null without a session.
   *
   * @throws ServiceError `too_many_requests` for a client with too many streams.
   */
  async events(headers: McpHeaders, { access, reauthorize }: McpRequester): Promise<Reply | null> {
    const session = await this.#sessionOf(headers, access)
    if (session === null) return null
    if (session === 'gone') return sessionGone(undefined)
    const request = legacyRequest({ method: '', params: {} }, session.revision, session, headers, access)
    return this.#streams.open(access, (signal) => sessionEvents(this.#deps, session, request, reauthorize, signal))
  }

  /** Ends the session of the request. False when it does not exist. */
  async endSession(headers: McpHeaders, access: McpAccess): Promise<boolean> {
    const session = await this.#sessionOf(headers, access)
    if (session === null || session === 'gone') return false
    await this.#deps.sessions.end(session)
    return true
  }

  async #message(message: Message, headers: McpHeaders, requester: McpRequester): Promise<Reply> {
    const era = eraOf(message, headers)
    switch (era.era) {
      case 'refused':
        return json(era.refusal.status, rpcError(idOf(message), era.refusal))
      case 'modern':
        return this.#modernMessage(message, headers, requester)
      case 'legacy':
        return this.#legacyMessage(message, era.revision, headers, requester)
      default:
        return era satisfies never
    }
  }

  async #modernMessage(message: Message, headers: McpHeaders, requester: McpRequester): Promise<Reply> {
    if (message.kind === 'notification') return accepted
    if (message.kind === 'response') {
      return json(400, rpcError(message.id, { code: -32600, message: 'The server sends no requests in this revision' }))
    }
    const refusal = judgeModern(message, headers)
    if (refusal !== null) return json(refusal.status, rpcError(message.id, refusal))
    const request = modernRequest(message, headers, requester.access)
    if (request === null) return json(400, rpcError(message.id, { code: -32602, message: 'Unknown log level' }))
    return this.#dispatcher.request(request, message.id, this.#modern, requester)
  }

  async #legacyMessage(
    message: Message,
    said: LegacyRevision | null,
    headers: McpHeaders,
    requester: McpRequester,
  ): Promise<Reply> {
    const { access } = requester
    // A client whose session has ended opens another session, and may still send the id of the old one.
    const isOpening = message.kind === 'request' && isHandshake(message.method)
    const session = isOpening ? null : await this.#sessionOf(headers, access)
    if (session === 'gone') return sessionGone(idOf(message))
    if (message.kind === 'response') {
      if (session !== null) await this.#deps.sessions.answers.put(session, message.id, message.body)
      return accepted
    }
    const revision = legacyRevisionOf(said, session?.revision ?? null)
    const request = legacyRequest(message, revision, session, headers, access)
    if (message.kind === 'request') {
      return this.#dispatcher.request(request, message.id, legacyCodec(revision), requester)
    }
    this.#dispatcher.notify(request)
    // Clients of the reference implementation that send no version expect an empty result (WIRE-MCP-02).
    return headers.version === undefined ? json(200, { jsonrpc: '2.0', id: null, result: {} }) : accepted
  }

  /** Null without an id. `gone` for a session that ended, belongs to another client, or was never begun here. */
  async #sessionOf({ session: id }: McpHeaders, access: McpAccess): Promise<Session | null | 'gone'> {
    if (id === undefined) return null
    if (!McpSessions.isOurs(id)) return 'gone'
    return (await this.#deps.sessions.find(id, access)) ?? 'gone'
  }

  /** Handles the entries of a batch one by one. */
  async #batch(
    entries: readonly (Message | Malformed)[],
    headers: McpHeaders,
    requester: McpRequester,
  ): Promise<Reply> {
    const refusal = batchRefusal(entries, headers)
    if (refusal !== null) return json(400, rpcError(undefined, { code: -32600, message: refusal }))
    const bodies: object[] = []
    for (const entry of entries) {
      const reply = entry.kind === 'malformed' ? malformed(entry) : await this.#entry(entry, headers, requester)
      if (entry.kind === 'notification' || reply.kind === 'empty') continue
      if (reply.kind === 'json') bodies.push(reply.body)
      else for await (const message of reply.messages) bodies.push(message)
    }
    return bodies.length === 0 ? accepted : json(200, bodies)
  }

  /** An entry that fails after another one ran must not hide the other's response, so its error is in the body. */
  async #entry(entry: Message, headers: McpHeaders, requester: McpRequester): Promise<Reply> {
    try {
      return await this.#message(entry, headers, requester)
    } catch (error) {
      if (entry.kind !== 'request' || !(error instanceof ServiceError)) throw error
      return json(200, lateError(entry.id, error))
    }
  }
}

/** The reason to reject a batch, or null. Only 2025-03-26 has batches, and its servers must accept them. */
function batchRefusal(entries: readonly (Message | Malformed)[], { version }: McpHeaders): string | null {
  const isOld = version === undefined || asLegacy(version) !== null
  const revision = legacyRevisionOf(asLegacy(version), null)
  if (entries.length === 0 || entries.length > maxBatchSize || !isOld || since(revision, '2025-06-18')) {
    return 'The body must contain exactly one message'
  }
  return entries.some(belongsAlone) ? 'This message must not be in a batch' : null
}

function belongsAlone(entry: Message | Malformed): boolean {
  if (entry.kind === 'malformed' || entry.kind === 'response') return false
  return isHandshake(entry.method) || metaKeys.version in metaOf(entry.params)
}

function idOf(message: Message): Id | undefined {
  return message.kind === 'notification' ? undefined : message.id
}

export function unreadable(why: string): Reply {
  return malformed({ kind: 'malformed', code: -32700, why })
}

function malformed({ code, why, id }: Malformed): Reply {
  return json(400, rpcError(id, { code, message: `Invalid request: ${why}` }))
}

/** Makes the client start again with `initialize` (2025-11-25, "Session Management"). */
function sessionGone(id: Id | undefined): Reply {
  return json(404, rpcError(id, { code: -32600, message: 'The session has ended' }))
}
