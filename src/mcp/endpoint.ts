/** One address, two eras: from the text of a body to a reply. */
import type { ClientInfo, ClientQuestion, LogLevel } from '../app/mcp-declarations.ts'
import { type Channel, type McpAccess, type McpCallIn, readClientInfo } from './call.ts'
import type { Codec } from './codecs/codec.ts'
import { legacyCodec } from './codecs/legacy.ts'
import { modernCodec } from './codecs/modern.ts'
import { eraOf, judgeModern, legacyRevisionOf, metaKeys, metaOf, type ProtocolHeaders } from './era.ts'
import { McpFailure } from './failure.ts'
import type { McpParts } from './mcp-parts.ts'
import { isId, isRecord, type Id, type Malformed, type Message, type Params, readBody } from './message.ts'
import { Outgoing } from './outgoing.ts'
import { json, type Reply, rpcError, rpcResult } from './reply.ts'
import { asLegacy, latestLegacy, legacyRevisions, type LegacyRevision, type Revision, since } from './revisions.ts'
import type { Result } from './result.ts'
import { requireCapabilities } from './round-trip.ts'
import { answer, capabilities } from './server.ts'

export interface McpHeaders extends ProtocolHeaders {
  /** `Mcp-Session-Id`. */
  readonly session: string | undefined
  readonly field: (name: string) => string | undefined
}

/** What only some legacy clients need, and is kept for them: the agreement of `initialize`. */
export interface LegacySession {
  readonly revision: LegacyRevision
  readonly info: ClientInfo | null
  readonly capabilities: Params
  readonly logLevel: LogLevel | null
}

type Request = Message & { kind: 'request' }

const levels: readonly LogLevel[] = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

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
  async post(text: string, headers: McpHeaders, access: McpAccess): Promise<Reply> {
    const body = readBody(text)
    switch (body.kind) {
      case 'malformed':
        return malformed(body)
      case 'batch':
        return this.#batch(body.entries, headers, access)
      default:
        return this.#message(body, headers, access)
    }
  }

  async #message(message: Message, headers: McpHeaders, access: McpAccess): Promise<Reply> {
    const era = eraOf(message, headers)
    const id = message.kind === 'notification' ? undefined : message.id
    if (era.era === 'refused') return json(era.refusal.status, rpcError(id, era.refusal))
    if (message.kind === 'response') {
      return era.era === 'modern'
        ? json(400, rpcError(id, { code: -32600, message: 'The server sends no requests in this revision' }))
        : { kind: 'empty', status: 202 }
    }
    if (message.kind === 'notification') return this.#notification(headers)
    return era.era === 'modern'
      ? this.#modernRequest(message, headers, access)
      : this.#legacyRequest(message, headers, access, legacyRevisionOf(era.revision, null))
  }

  /** Clients of the reference expect an empty result where they name no version (decision 30). */
  #notification({ version }: McpHeaders): Reply {
    return version === undefined ? json(200, { jsonrpc: '2.0', id: null, result: {} }) : { kind: 'empty', status: 202 }
  }

  async #modernRequest(message: Request, headers: McpHeaders, access: McpAccess): Promise<Reply> {
    const refusal = judgeModern(message, headers)
    if (refusal !== null) return json(refusal.status, rpcError(message.id, refusal))
    const meta = metaOf(message.params)
    const { [metaKeys.logLevel]: level, [metaKeys.capabilities]: declared } = meta
    if (level !== undefined && !levels.includes(level as LogLevel)) {
      return json(400, rpcError(message.id, { code: -32602, message: 'The log level is not known' }))
    }
    return this.#run(message, headers, access, this.#modern, {
      info: readClientInfo(meta[metaKeys.clientInfo]),
      capabilities: isRecord(declared) ? declared : {},
      logLevel: level === undefined ? null : (level as LogLevel),
    })
  }

  async #legacyRequest(
    message: Request,
    headers: McpHeaders,
    access: McpAccess,
    revision: LegacyRevision,
  ): Promise<Reply> {
    const codec = this.#legacy.get(revision) ?? this.#modern
    const client = { info: access.remembered, capabilities: {}, logLevel: null }
    switch (message.method) {
      case 'initialize':
        return json(200, rpcResult(message.id, this.#initialize(message.params)))
      case 'ping':
        return json(200, rpcResult(message.id, {}))
      case 'logging/setLevel':
        return levels.includes(message.params['level'] as LogLevel)
          ? json(200, rpcResult(message.id, {}))
          : json(200, rpcError(message.id, { code: -32602, message: 'The log level is not known' }))
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return json(200, rpcResult(message.id, {}))
      case 'server/discover':
        return json(200, rpcError(message.id, { code: -32601, message: 'The method is not known' }))
      default:
        return this.#run(message, headers, access, codec, client)
    }
  }

  #initialize(params: Params): Params {
    const wanted = asLegacy(params['protocolVersion'])
    const { server, instructions } = this.#parts
    return {
      protocolVersion: wanted ?? latestLegacy,
      capabilities: capabilitiesFor(this.#parts, wanted ?? latestLegacy),
      serverInfo: server,
      ...(instructions === '' ? {} : { instructions }),
    }
  }

  async #run(
    message: Request,
    headers: McpHeaders,
    access: McpAccess,
    codec: Codec,
    client: { info: ClientInfo | null; capabilities: Params; logLevel: LogLevel | null },
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
      channel: channelOf(message, codec.revision, client, outgoing),
    }
    const answered = this.#encoded(call, message.id, codec)
    const first = await outgoing.firstOf(answered)
    if (first !== 'message') return json(first.answer.status, first.answer.body)
    return {
      kind: 'stream',
      messages: outgoing.messages(
        answered.then(
          ({ body }) => body,
          () => rpcError(message.id, { code: -32603, message: 'Internal error' }),
        ),
      ),
    }
  }

  /** @throws ServiceError as `answer`. */
  async #encoded(call: McpCallIn, id: Id, codec: Codec): Promise<{ status: number; body: object }> {
    let result: Result
    try {
      result = await answer(this.#parts, call)
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error
      if (error.kind === 'internal') this.#parts.log.error({ error, method: call.method }, 'A call of a client failed')
      const failure = codec.failure(call.method, error)
      if ('result' in failure) return { status: 200, body: rpcResult(id, failure.result) }
      return { status: failure.status, body: rpcError(id, failure) }
    }
    return { status: 200, body: rpcResult(id, codec.result(call.method, result)) }
  }

  /** 2025-03-26 has to take them, later revisions know none; each entry is judged by itself. */
  async #batch(entries: readonly (Message | Malformed)[], headers: McpHeaders, access: McpAccess): Promise<Reply> {
    const revision = legacyRevisionOf(asLegacy(headers.version), null)
    const isOld = headers.version === undefined || asLegacy(headers.version) !== null
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
      const reply = entry.kind === 'malformed' ? malformed(entry) : await this.#message(entry, headers, access)
      if (entry.kind === 'notification' || reply.kind === 'empty') continue
      if (reply.kind === 'json') bodies.push(reply.body)
      else for await (const message of reply.messages) bodies.push(message)
    }
    return bodies.length === 0 ? { kind: 'empty', status: 202 } : json(200, bodies)
  }
}

const mostInBatch = 50

export function notJson(): Reply {
  return malformed({ kind: 'malformed', code: -32700, why: 'the body is not JSON' })
}

function malformed({ code, why, id }: Malformed): Reply {
  return json(400, rpcError(id, { code, message: `Invalid request: ${why}` }))
}

function capabilitiesFor(parts: McpParts, revision: LegacyRevision): object {
  const { completions, ...rest } = capabilities(parts)
  return since(revision, '2025-03-26') ? { ...rest, completions } : rest
}

function channelOf(
  { params }: Request,
  revision: Revision,
  client: { readonly capabilities: Params; readonly logLevel: LogLevel | null },
  outgoing: Outgoing,
): Channel {
  const token = metaOf(params)['progressToken']
  let reached = Number.NEGATIVE_INFINITY
  return {
    signal: outgoing.signal,
    progress(progress, total, message) {
      // It has to grow; what does not is not told.
      if (!isId(token) || progress <= reached) return
      reached = progress
      const said = message !== undefined && since(revision, '2025-03-26') ? { message } : {}
      const of = total === undefined ? {} : { total }
      outgoing.send(notification('notifications/progress', { progressToken: token, progress, ...of, ...said }))
    },
    log(level, data, logger) {
      if (client.logLevel === null || levels.indexOf(level) < levels.indexOf(client.logLevel)) return
      outgoing.send(notification('notifications/message', { level, data, ...(logger === undefined ? {} : { logger }) }))
    },
    async ask(questions: Readonly<Record<string, ClientQuestion>>) {
      requireCapabilities(questions, client.capabilities)
      throw new McpFailure('missing_capability', 'The client cannot be asked in this call')
    },
    background() {},
  }
}

function notification(method: string, params: object): object {
  return { jsonrpc: '2.0', method, params }
}
