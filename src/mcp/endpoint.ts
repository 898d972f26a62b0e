/** One address, two eras: from the text of a body to a reply. */
import { AtOnce } from '../rate-limit/concurrency-limit.ts'
import { type McpRequest, clientKeyOf, type McpAccess, readClientInfo } from './call/call.ts'
import { Calls, type WatchDisconnect } from './calls.ts'
import { isLogLevel } from './call/channel.ts'
import type { Codec } from './codecs/codec.ts'
import { legacyCodec } from './codecs/legacy.ts'
import { modernCodec } from './codecs/modern.ts'
import {
  eraOf,
  judgeModern,
  legacyRevisionOf,
  metaKeys,
  metaOf,
  type ProtocolHeaders,
} from './protocol/protocol-version.ts'
import { McpFailure } from './protocol/failure.ts'
import { initialize } from './methods/initialize.ts'
import { housekeepingOf } from './session-methods.ts'
import { listen, sessionEvents } from './methods/listen.ts'
import type { McpDeps } from './deps.ts'
import { isRecord, type Id, type Malformed, type Message, type Params, readBody } from './protocol/message.ts'
import { accepted, failed, json, type Reply, rpcError, rpcResult } from './protocol/reply.ts'
import { asLegacy, type LegacyRevision, modernRevision, since } from './protocol/revisions.ts'
import type { McpClient, Session } from './sessions/session.ts'
import { McpSessions } from './sessions/sessions.ts'
import { type ToolView, toolsFor } from './methods/list-tools.ts'

export interface McpHeaders extends ProtocolHeaders {
  /** `Mcp-Session-Id`. */
  readonly session: string | undefined
  readonly field: (name: string) => string | undefined
}

/** Who asks, and what becomes of that while an answer goes on for long. */
export interface McpRequester {
  readonly access: McpAccess
  /** As it is now; null when the token is no longer good. */
  readonly again: () => Promise<McpAccess | null>
  readonly onGone: WatchDisconnect
  /** Counts so many messages of the client. @throws ServiceError `too_many_requests` */
  readonly count: (messages: number) => void
}

type Request = Message & { kind: 'request' }

const mostInBatch = 50
/** Streams that one client listens to at the same time. */
const mostStreams = 16

export class McpEndpoint {
  readonly #deps: McpDeps
  readonly #calls: Calls
  readonly #streams = new AtOnce(mostStreams, 'This client', 'streams')
  readonly #modern: Codec

  constructor(deps: McpDeps) {
    this.#deps = deps
    this.#calls = new Calls(deps)
    this.#modern = modernCodec(deps.server)
  }

  /** @throws ServiceError for faults that are answered by status (503, 429). */
  async post(text: string, headers: McpHeaders, asking: McpRequester): Promise<Reply> {
    const body = readBody(text)
    // A batch that is refused for its size costs no more than the largest that is not.
    asking.count(body.kind === 'batch' ? Math.max(1, Math.min(body.entries.length, mostInBatch)) : 1)
    switch (body.kind) {
      case 'malformed':
        return malformed(body)
      case 'batch':
        return this.#batch(body.entries, headers, asking)
      default:
        return this.#message(body, headers, asking)
    }
  }

  /** What a client with this relationship is offered now. */
  tools(access: Pick<McpAccess, 'actor' | 'caller' | 'remembered'>): Promise<readonly ToolView[]> {
    return toolsFor(this.#deps, access, access.remembered)
  }

  /** As the application declared it; null when it has none of this name. */
  tool(name: string): { readonly title: string; readonly description: string } | null {
    const tool = this.#deps.catalogue.tools.get(name)
    return tool === undefined
      ? null
      : { title: tool.declaration.title ?? tool.operation.name, description: tool.description }
  }

  /** As `tool`, for a prompt. */
  prompt(name: string): { readonly title: string; readonly description: string } | null {
    const prompt = this.#deps.catalogue.prompts.get(name)
    return prompt === undefined
      ? null
      : { title: prompt.declaration.title ?? prompt.name, description: prompt.description }
  }

  /**
   * The stream of a session, where lists and resources are told of; null without a session.
   *
   * @throws ServiceError `too_many_requests` for a client with too many streams.
   */
  async events(headers: McpHeaders, asking: McpRequester): Promise<Reply | null> {
    const session = await this.#sessionOf(headers, asking.access)
    if (session === null) return null
    if (session === 'gone') return sessionGone(undefined)
    const asked = {
      access: asking.access,
      revision: session.revision,
      method: '',
      params: {},
      client: session,
      session,
      sessionId: headers.session ?? null,
      header: headers.field,
    }
    return this.#stream(asking, (signal) => sessionEvents(this.#deps, session, asked, asking.again, signal))
  }

  /** True when there was such a session. */
  async endSession(headers: McpHeaders, access: McpAccess): Promise<boolean> {
    const session = await this.#sessionOf(headers, access)
    if (session === null || session === 'gone') return false
    await this.#deps.sessions.end(session)
    return true
  }

  async #message(message: Message, headers: McpHeaders, asking: McpRequester): Promise<Reply> {
    const era = eraOf(message, headers)
    switch (era.era) {
      case 'refused':
        return json(era.refusal.status, rpcError(idOf(message), era.refusal))
      case 'modern':
        return this.#modernMessage(message, headers, asking)
      case 'legacy':
        return this.#legacyMessage(message, era.revision, headers, asking)
      default:
        return era satisfies never
    }
  }

  async #modernMessage(message: Message, headers: McpHeaders, asking: McpRequester): Promise<Reply> {
    if (message.kind === 'notification') return accepted
    if (message.kind === 'response') {
      return json(400, rpcError(message.id, { code: -32600, message: 'The server sends no requests in this revision' }))
    }
    const { id, method, params } = message
    const refusal = judgeModern(message, headers)
    if (refusal !== null) return json(refusal.status, rpcError(id, refusal))
    const client = clientIn(metaOf(params))
    if (client === null) return json(400, rpcError(id, { code: -32602, message: 'The log level is not known' }))
    const asked: McpRequest = {
      access: asking.access,
      revision: modernRevision,
      method,
      params,
      client,
      session: null,
      // It says nothing in this revision, but handlers are shown what was sent.
      sessionId: headers.session ?? null,
      header: headers.field,
    }
    if (method !== 'subscriptions/listen') return this.#calls.run(asked, id, this.#modern, asking.onGone)
    return orFailure(this.#modern, message, async () =>
      this.#stream(asking, await listen(this.#deps, this.#modern, id, asked, asking.again)),
    )
  }

  async #legacyMessage(
    message: Message,
    said: LegacyRevision | null,
    headers: McpHeaders,
    asking: McpRequester,
  ): Promise<Reply> {
    if (message.kind === 'request' && message.method === 'initialize') {
      const codec = legacyCodec(legacyRevisionOf(said, asLegacy(message.params['protocolVersion'])))
      return orFailure(codec, message, () => initialize(this.#deps, message, asking.access))
    }
    const session = await this.#sessionOf(headers, asking.access)
    if (session === 'gone') return sessionGone(idOf(message))
    switch (message.kind) {
      case 'request':
        return this.#legacyRequest(message, said, headers, asking, session)
      case 'notification':
        if (session !== null && message.method === 'notifications/cancelled') {
          this.#calls.cancel(session, message.params['requestId'])
        }
        // Clients of the reference expect an empty result where they name no version (decision 30).
        return headers.version === undefined ? json(200, { jsonrpc: '2.0', id: null, result: {} }) : accepted
      case 'response':
        if (session !== null) await this.#deps.sessions.answered(session, message.id, message.body)
        return accepted
      default:
        return message satisfies never
    }
  }

  async #legacyRequest(
    message: Request,
    said: LegacyRevision | null,
    headers: McpHeaders,
    asking: McpRequester,
    session: Session | null,
  ): Promise<Reply> {
    const { id, method, params } = message
    const revision = legacyRevisionOf(said, session?.revision ?? null)
    const codec = legacyCodec(revision)
    const keep = housekeepingOf(method)
    if (keep !== null) {
      return orFailure(codec, message, async () => {
        await keep(this.#deps.sessions, session, params)
        return json(200, rpcResult(id, {}))
      })
    }
    const asked: McpRequest = {
      access: asking.access,
      revision,
      method,
      params,
      client: session ?? { info: asking.access.remembered, capabilities: {}, logLevel: null },
      session,
      sessionId: headers.session ?? null,
      header: headers.field,
    }
    return this.#calls.run(asked, id, codec, asking.onGone)
  }

  /** Null where the client names none that could be ours; `gone` for one that is not (any more), or another client's. */
  async #sessionOf({ session: id }: McpHeaders, access: McpAccess): Promise<Session | null | 'gone'> {
    if (!McpSessions.isOurs(id)) return null
    return (await this.#deps.sessions.find(id, access)) ?? 'gone'
  }

  /** @throws ServiceError `too_many_requests` */
  #stream({ access }: McpRequester, messages: (signal: AbortSignal) => AsyncGenerator<object>): Reply {
    const release = this.#streams.begin(clientKeyOf(access))
    const controller = new AbortController()
    const close = (): void => {
      controller.abort()
      release()
    }
    return { kind: 'stream', messages: closing(messages(controller.signal), close), close }
  }

  /** 2025-03-26 has to take them, later revisions know none; each entry is judged by itself. */
  async #batch(entries: readonly (Message | Malformed)[], headers: McpHeaders, asking: McpRequester): Promise<Reply> {
    const isOld = headers.version === undefined || asLegacy(headers.version) !== null
    const revision = legacyRevisionOf(asLegacy(headers.version), null)
    if (entries.length === 0 || entries.length > mostInBatch || !isOld || since(revision, '2025-06-18')) {
      return json(400, rpcError(undefined, { code: -32600, message: 'A body holds one message' }))
    }
    if (entries.some(belongsAlone)) {
      return json(400, rpcError(undefined, { code: -32600, message: 'A batch may not hold this message' }))
    }
    const bodies: object[] = []
    for (const entry of entries) {
      const reply = entry.kind === 'malformed' ? malformed(entry) : await this.#message(entry, headers, asking)
      if (entry.kind === 'notification' || reply.kind === 'empty') continue
      if (reply.kind === 'json') bodies.push(reply.body)
      else for await (const message of reply.messages) bodies.push(message)
    }
    return bodies.length === 0 ? accepted : json(200, bodies)
  }
}

/** What a modern request says of its client; null for a log level that is none. */
function clientIn(meta: Params): McpClient | null {
  const { [metaKeys.logLevel]: level, [metaKeys.capabilities]: declared } = meta
  if (level !== undefined && !isLogLevel(level)) return null
  return {
    info: readClientInfo(meta[metaKeys.clientInfo]),
    capabilities: isRecord(declared) ? declared : {},
    logLevel: level ?? null,
  }
}

function belongsAlone(entry: Message | Malformed): boolean {
  if (entry.kind === 'malformed' || entry.kind === 'response') return false
  return entry.method === 'initialize' || metaKeys.version in metaOf(entry.params)
}

async function orFailure(codec: Codec, { id, method }: Request, work: () => Promise<Reply>): Promise<Reply> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof McpFailure) return failed(codec, method, id, error)
    throw error
  }
}

async function* closing(messages: AsyncGenerator<object>, close: () => void): AsyncGenerator<object> {
  try {
    yield* messages
  } finally {
    close()
  }
}

function idOf(message: Message): Id | undefined {
  return message.kind === 'notification' ? undefined : message.id
}

export function notJson(): Reply {
  return malformed({ kind: 'malformed', code: -32700, why: 'the body is not JSON' })
}

function malformed({ code, why, id }: Malformed): Reply {
  return json(400, rpcError(id, { code, message: `Invalid request: ${why}` }))
}

/** The client begins again with `initialize` (2025-11-25, "Session Management"). */
function sessionGone(id: Id | undefined): Reply {
  return json(404, rpcError(id, { code: -32600, message: 'The session has ended' }))
}
