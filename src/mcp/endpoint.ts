/** One address, two eras: from the text of a body to a reply. */
import type { ClientInfo, LogLevel } from '../app/mcp-declarations.ts'
import { type McpAccess, type McpCallIn, readClientInfo } from './call.ts'
import { channelOf, isLogLevel } from './channel.ts'
import type { Codec } from './codecs/codec.ts'
import { legacyCodec } from './codecs/legacy.ts'
import { modernCodec } from './codecs/modern.ts'
import { eraOf, judgeModern, legacyRevisionOf, metaKeys, metaOf, type ProtocolHeaders } from './era.ts'
import { McpFailure } from './failure.ts'
import { listen, legacyEvents } from './listening.ts'
import type { McpParts } from './mcp-parts.ts'
import { isRecord, type Id, type Malformed, type Message, type Params, readBody } from './message.ts'
import { currentContext } from '../observe/context.ts'
import { Outgoing } from './outgoing.ts'
import { json, type Reply, rpcError, rpcResult } from './reply.ts'
import type { Result } from './result.ts'
import { asLegacy, latestLegacy, legacyRevisions, type LegacyRevision, since } from './revisions.ts'
import { answer, capabilities } from './server.ts'
import { McpSessions, type Session } from './sessions.ts'
import { type ToolView, toolsFor } from './tools.ts'

export interface McpHeaders extends ProtocolHeaders {
  /** `Mcp-Session-Id`. */
  readonly session: string | undefined
  readonly field: (name: string) => string | undefined
}

/** A request's access, and whether it is still good when a stream goes on for long. */
export interface Asking {
  readonly access: McpAccess
  readonly isGood: () => Promise<boolean>
}

type Request = Message & { kind: 'request' }

interface Client {
  readonly info: ClientInfo | null
  readonly capabilities: Params
  readonly logLevel: LogLevel | null
}

const mostInBatch = 50

export class McpEndpoint {
  readonly #parts: McpParts
  readonly #modern: Codec
  readonly #legacy: ReadonlyMap<LegacyRevision, Codec>

  constructor(parts: McpParts) {
    this.#parts = parts
    this.#modern = modernCodec(parts.server)
    this.#legacy = new Map(legacyRevisions.map((revision) => [revision, legacyCodec(revision)]))
  }

  /** @throws ServiceError for faults that are answered by status (503, 429). */
  async post(text: string, headers: McpHeaders, asking: Asking): Promise<Reply> {
    const body = readBody(text)
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
    return toolsFor(this.#parts, access, access.remembered)
  }

  toolNames(): readonly string[] {
    return [...this.#parts.catalogue.tools.keys()]
  }

  /** As the application declared it; null when it has none of this name. */
  tool(name: string): { readonly title: string; readonly description: string } | null {
    const tool = this.#parts.catalogue.tools.get(name)
    return tool === undefined
      ? null
      : { title: tool.declaration.title ?? tool.operation.name, description: tool.description }
  }

  /** The stream of a session, where lists and resources are told of; null without a session. */
  async events(headers: McpHeaders, asking: Asking): Promise<Reply | null> {
    const session = await this.#sessionOf(headers, asking.access)
    if (session === null) return null
    if (session === 'gone') return sessionGone(undefined)
    const controller = new AbortController()
    const call = this.#callFor(asking.access, session.revision, session)
    return {
      kind: 'stream',
      messages: legacyEvents(this.#parts, session, call, asking, controller.signal),
      close: () => controller.abort(),
    }
  }

  /** True when there was such a session. */
  async endSession(headers: McpHeaders, access: McpAccess): Promise<boolean> {
    const session = await this.#sessionOf(headers, access)
    if (session === null || session === 'gone') return false
    await this.#parts.sessions.end(session)
    return true
  }

  async #message(message: Message, headers: McpHeaders, asking: Asking): Promise<Reply> {
    const era = eraOf(message, headers)
    const id = message.kind === 'notification' ? undefined : message.id
    if (era.era === 'refused') return json(era.refusal.status, rpcError(id, era.refusal))
    if (era.era === 'modern') return this.#modernMessage(message, headers, asking)
    if (message.kind !== 'response' && message.method === 'initialize') {
      return message.kind === 'request' ? this.#initialize(message, asking.access) : { kind: 'empty', status: 202 }
    }
    const session = await this.#sessionOf(headers, asking.access)
    if (session === 'gone') return sessionGone(id)
    if (message.kind === 'notification') return this.#notification(headers)
    if (message.kind === 'response') {
      if (session !== null) await this.#parts.sessions.answered(session, message.id, message.body)
      return { kind: 'empty', status: 202 }
    }
    const revision = legacyRevisionOf(era.revision, session?.revision ?? null)
    return this.#legacyRequest(message, headers, asking.access, revision, session)
  }

  async #modernMessage(message: Message, headers: McpHeaders, asking: Asking): Promise<Reply> {
    if (message.kind === 'notification') return { kind: 'empty', status: 202 }
    if (message.kind === 'response') {
      return json(400, rpcError(message.id, { code: -32600, message: 'The server sends no requests in this revision' }))
    }
    const refusal = judgeModern(message, headers)
    if (refusal !== null) return json(refusal.status, rpcError(message.id, refusal))
    const meta = metaOf(message.params)
    const { [metaKeys.logLevel]: level, [metaKeys.capabilities]: declared } = meta
    if (level !== undefined && !isLogLevel(level)) {
      return json(400, rpcError(message.id, { code: -32602, message: 'The log level is not known' }))
    }
    const client: Client = {
      info: readClientInfo(meta[metaKeys.clientInfo]),
      capabilities: isRecord(declared) ? declared : {},
      logLevel: level ?? null,
    }
    if (message.method === 'subscriptions/listen') return this.#listen(message, asking, client)
    return this.#run(message, headers, asking.access, this.#modern, client, null)
  }

  #listen(message: Request, asking: Asking, client: Client): Reply {
    const call = { ...this.#callFor(asking.access, this.#modern.revision, client), params: message.params }
    try {
      const controller = new AbortController()
      const messages = listen(this.#parts, this.#modern, message.id, call, asking, controller.signal)
      return { kind: 'stream', messages, close: () => controller.abort() }
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error
      const failure = this.#modern.failure(message.method, error)
      return 'result' in failure ? json(200, failure.result) : json(failure.status, rpcError(message.id, failure))
    }
  }

  /** Clients of the reference expect an empty result where they name no version (decision 30). */
  #notification({ version }: McpHeaders): Reply {
    return version === undefined ? json(200, { jsonrpc: '2.0', id: null, result: {} }) : { kind: 'empty', status: 202 }
  }

  async #initialize({ id, params }: Request, access: McpAccess): Promise<Reply> {
    const revision = asLegacy(params['protocolVersion']) ?? latestLegacy
    const { server, instructions, sessions } = this.#parts
    const info = readClientInfo(params['clientInfo'])
    const declared = params['capabilities']
    if (info !== null) await this.#parts.remember(access, info)
    const body = rpcResult(id, {
      protocolVersion: revision,
      capabilities: capabilitiesFor(this.#parts, revision),
      serverInfo: server,
      ...(instructions === '' ? {} : { instructions }),
    })
    // The oldest revision has another transport, and no sessions in this one.
    if (!since(revision, '2025-03-26')) return json(200, body)
    const session = await sessions.begin(access, revision, info, isRecord(declared) ? declared : {})
    return { ...json(200, body), headers: { 'Mcp-Session-Id': session } }
  }

  async #legacyRequest(
    message: Request,
    headers: McpHeaders,
    access: McpAccess,
    revision: LegacyRevision,
    session: Session | null,
  ): Promise<Reply> {
    const { id, method, params } = message
    const done = (): Reply => json(200, rpcResult(id, {}))
    switch (method) {
      case 'ping':
        return done()
      case 'logging/setLevel': {
        const { level } = params
        if (!isLogLevel(level)) return json(200, rpcError(id, { code: -32602, message: 'The log level is not known' }))
        if (session !== null) await this.#parts.sessions.setLogLevel(session, level)
        return done()
      }
      case 'resources/subscribe':
      case 'resources/unsubscribe': {
        const { uri } = params
        if (typeof uri !== 'string' || uri.length > 2048) {
          return json(200, rpcError(id, { code: -32602, message: 'The call names no resource' }))
        }
        if (session !== null && method === 'resources/subscribe') await this.#parts.sessions.subscribe(session, uri)
        if (session !== null && method === 'resources/unsubscribe') await this.#parts.sessions.unsubscribe(session, uri)
        return done()
      }
      default: {
        const codec = this.#legacy.get(revision) ?? this.#modern
        const client = {
          info: session?.info ?? access.remembered,
          capabilities: session?.capabilities ?? {},
          logLevel: session?.logLevel ?? null,
        }
        return this.#run(message, headers, access, codec, client, session)
      }
    }
  }

  /** Null where the client names none that could be ours; `gone` for one that is not (any more), or another client's. */
  async #sessionOf({ session: id }: McpHeaders, access: McpAccess): Promise<Session | null | 'gone'> {
    if (!McpSessions.isOurs(id)) return null
    return (await this.#parts.sessions.find(id, access)) ?? 'gone'
  }

  async #run(
    message: Request,
    headers: McpHeaders,
    access: McpAccess,
    codec: Codec,
    client: Client,
    session: Session | null,
  ): Promise<Reply> {
    const outgoing = new Outgoing()
    const call: McpCallIn = {
      access,
      revision: codec.revision,
      method: message.method,
      params: message.params,
      client,
      sessionId: headers.session ?? null,
      header: headers.field,
      channel: channelOf(message.params, codec.revision, client, outgoing, session, this.#parts.sessions),
    }
    const answered = this.#encoded(call, message.id, codec)
    const first = await outgoing.firstOf(answered)
    if (first !== 'message') return json(first.answer.status, first.answer.body)
    const last = answered.then(
      ({ body }) => body,
      () => rpcError(message.id, { code: -32603, message: 'Internal error' }),
    )
    return { kind: 'stream', messages: outgoing.messages(last), close: () => outgoing.abort() }
  }

  /** @throws ServiceError as `answer`. */
  async #encoded(call: McpCallIn, id: Id, codec: Codec): Promise<{ status: number; body: object }> {
    const context = currentContext()
    if (context !== undefined) context.call = `${call.method} ${targetOf(call.params)} ${id}`.slice(0, 200)
    let result: Result
    try {
      result = await answer(this.#parts, call)
    } catch (error) {
      this.#note(call, error)
      if (!(error instanceof McpFailure)) throw error
      if (error.kind === 'internal') this.#parts.log.error({ error, method: call.method }, 'A call of a client failed')
      const failure = codec.failure(call.method, error)
      if ('result' in failure) return { status: 200, body: rpcResult(id, failure.result) }
      return { status: failure.status, body: rpcError(id, failure) }
    }
    this.#note(call, null)
    return { status: 200, body: rpcResult(id, codec.result(call.method, result)) }
  }

  /** For the owner: which call it was and what was decided, never with what arguments. */
  #note({ access, method, params }: McpCallIn, error: unknown): void {
    const isRefused = error instanceof McpFailure && error.kind === 'not_permitted'
    this.#parts.note({
      access,
      method,
      target: targetOf(params),
      decision: isRefused ? 'refused' : 'allowed',
      reason: isRefused ? error.message : (this.#parts.permission.grantOf(access.caller) ?? 'asked by name'),
    })
  }

  /** A call in whose name lists are read for a stream. */
  #callFor(access: McpAccess, revision: McpCallIn['revision'], client: Omit<Client, 'logLevel'>): McpCallIn {
    const none = { info: client.info, capabilities: client.capabilities, logLevel: null }
    return {
      access,
      revision,
      method: '',
      params: {},
      client: none,
      sessionId: null,
      header: () => undefined,
      channel: channelOf({}, revision, none, new Outgoing(), null, this.#parts.sessions),
    }
  }

  /** 2025-03-26 has to take them, later revisions know none; each entry is judged by itself. */
  async #batch(entries: readonly (Message | Malformed)[], headers: McpHeaders, asking: Asking): Promise<Reply> {
    const isOld = headers.version === undefined || asLegacy(headers.version) !== null
    const revision = legacyRevisionOf(asLegacy(headers.version), null)
    if (entries.length === 0 || entries.length > mostInBatch || !isOld || since(revision, '2025-06-18')) {
      return json(400, rpcError(undefined, { code: -32600, message: 'A body holds one message' }))
    }
    const isMixed = entries.some(
      (entry) =>
        entry.kind !== 'malformed' &&
        entry.kind !== 'response' &&
        (entry.method === 'initialize' || metaKeys.version in metaOf(entry.params)),
    )
    if (isMixed) return json(400, rpcError(undefined, { code: -32600, message: 'A batch may not hold this message' }))
    const bodies: object[] = []
    for (const entry of entries) {
      const reply = entry.kind === 'malformed' ? malformed(entry) : await this.#message(entry, headers, asking)
      if (entry.kind === 'notification' || reply.kind === 'empty') continue
      if (reply.kind === 'json') bodies.push(reply.body)
      else for await (const message of reply.messages) bodies.push(message)
    }
    return bodies.length === 0 ? { kind: 'empty', status: 202 } : json(200, bodies)
  }
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

function capabilitiesFor(parts: McpParts, revision: LegacyRevision): object {
  const { completions, ...rest } = capabilities(parts)
  return since(revision, '2025-03-26') ? { ...rest, completions } : rest
}

/** What a call is about: a name or an address, bounded. */
function targetOf({ name, uri, taskId }: Params): string {
  const target = name ?? uri ?? taskId
  return typeof target === 'string' ? target.slice(0, 200) : ''
}
