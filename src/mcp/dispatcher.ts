/** Dispatches requests: finds the row of the method, and runs its handler with limits, metrics and audit log. */
import { currentContext } from '../observe/context.ts'
import { ConcurrencyLimit } from '../rate-limit/concurrency-limit.ts'
import { clientKeyOf, type InFlightCall, type McpRequest } from './call/call.ts'
import { targetOf } from './call/call-labels.ts'
import { channelOf } from './call/channel.ts'
import { Outgoing } from './call/outgoing.ts'
import { runCall } from './call/run-call.ts'
import { RunningCalls } from './call/running-calls.ts'
import type { Reauthorize } from './change-notifications.ts'
import type { Codec } from './codecs/codec.ts'
import type { AuditedCall, McpDeps } from './deps.ts'
import type { CallMethod } from './method.ts'
import { mcpMethodOf } from './methods.ts'
import { McpFailure } from './protocol/failure.ts'
import type { Id } from './protocol/message.ts'
import { failed, json, type Reply, rpcResult } from './protocol/reply.ts'
import { modernRevision } from './protocol/revisions.ts'
import { lateError } from './protocol/service-error.ts'
import type { Streams } from './streams.ts'

/** The most concurrent calls of one client. */
const maxCalls = 100

/** Calls `then` when the client disconnects before it received the response. Returns the function that stops watching. */
export type WatchDisconnect = (then: () => void) => () => void

/** The connection of a request, until the response ends. */
export interface McpConnection {
  readonly reauthorize: Reauthorize
  readonly onGone: WatchDisconnect
}

export class McpDispatcher {
  readonly #deps: McpDeps
  readonly #streams: Streams
  readonly #limit = new ConcurrencyLimit(maxCalls, 'This client', 'calls')
  /** Only clients with a session can cancel a call by a message. */
  readonly #running = new RunningCalls()

  constructor(deps: McpDeps, streams: Streams) {
    this.#deps = deps
    this.#streams = streams
  }

  /** @throws ServiceError for errors that determine the HTTP status (503, 429). */
  async request(request: McpRequest, id: Id, codec: Codec, connection: McpConnection): Promise<Reply> {
    const method = mcpMethodOf(request.method, request.revision)
    const deps = this.#deps
    const { access, params, session } = request
    try {
      switch (method?.kind) {
        case 'handshake':
          return await method.handle(deps, access, id, params)
        case 'session':
          await method.handle(deps.sessions, session, params)
          return json(200, rpcResult(id, {}))
        case 'stream':
          return this.#streams.open(access, await method.open(deps, codec, id, request, connection.reauthorize))
        case 'notification':
          // The id makes the message a request, and a request with the name of a notification is unknown.
          return await this.#call(undefined, request, id, codec, connection)
        default:
          return await this.#call(method, request, id, codec, connection)
      }
    } catch (error) {
      if (error instanceof McpFailure) return failed(codec, request.method, id, error)
      throw error
    }
  }

  /** Handles a notification. Unknown notifications, and notifications without a session, are ignored. */
  notify({
    method: name,
    revision,
    session,
    params,
  }: Pick<McpRequest, 'method' | 'revision' | 'session' | 'params'>): void {
    const method = mcpMethodOf(name, revision)
    if (method?.kind === 'notification' && session !== null) method.handle(this.#running, session, params)
  }

  async #call(
    method: CallMethod | undefined,
    request: McpRequest,
    id: Id,
    codec: Codec,
    { onGone }: McpConnection,
  ): Promise<Reply> {
    const release = this.#limit.begin(clientKeyOf(request.access))
    const outgoing = new Outgoing(request.revision === modernRevision ? 'cancels' : 'means_nothing')
    const forget = this.#running.add(request.session, id, outgoing)
    const stopWatching = onGone(() => outgoing.left())
    const call = { ...request, channel: channelOf(request, outgoing, this.#deps.sessions.answers), held: { as: null } }
    const answered = this.#answer(method, call, id, codec).finally(() => {
      release()
      forget()
      stopWatching()
    })
    const first = await outgoing.firstOf(answered)
    if (first !== 'message') return first.answer
    const last = answered.then(
      ({ body }) => body,
      (error: unknown) => lateError(id, error),
    )
    return { kind: 'stream', messages: outgoing.messages(last), close: () => outgoing.left() }
  }

  async #answer(
    method: CallMethod | undefined,
    call: InFlightCall,
    id: Id,
    codec: Codec,
  ): Promise<Reply & { kind: 'json' }> {
    const target = targetOf(method, call.params).slice(0, 200)
    const context = currentContext()
    if (context !== undefined) context.call = `${call.method} ${target} ${id}`.slice(0, 200)
    const outcome = await runCall(this.#deps, method, call)
    const error = 'error' in outcome ? outcome.error : null
    this.#deps.note({
      access: call.access,
      method: call.method,
      target,
      isRead: method?.mayChange !== true,
      ...this.#decisionOn(call, error),
    })
    if (!('error' in outcome)) return json(200, rpcResult(id, codec.result(call.method, outcome.result)))
    if (!(error instanceof McpFailure)) throw error
    if (error.kind === 'internal') this.#deps.log.error({ error, method: call.method }, 'A call of a client failed')
    return failed(codec, call.method, id, error)
  }

  /** The decision about the call for the audit log, without the arguments of the call. */
  #decisionOn({ held }: InFlightCall, error: unknown): Pick<AuditedCall, 'decision' | 'reason'> {
    if (held.as !== null) return held.as
    if (error instanceof McpFailure && error.kind === 'not_permitted') {
      return { decision: 'refused', reason: error.message }
    }
    return { decision: 'allowed', reason: currentContext()?.grant ?? 'asked by name' }
  }
}
