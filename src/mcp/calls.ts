/** Calls on their way from a message to a reply: bounded, cancelled, told to the owner, and put in a revision's words. */
import { AtOnce } from '../rate-limit/concurrency-limit.ts'
import { currentContext } from '../observe/context.ts'
import { type McpRequest, clientKeyOf, type InFlightCall } from './call/call.ts'
import { channelOf } from './call/channel.ts'
import type { Codec } from './codecs/codec.ts'
import { McpFailure } from './protocol/failure.ts'
import type { McpDeps } from './deps.ts'
import type { Id, Params } from './protocol/message.ts'
import { observed } from './observed.ts'
import { Outgoing } from './call/outgoing.ts'
import { failed, json, type Reply, rpcError, rpcResult } from './protocol/reply.ts'
import type { Result } from './protocol/result.ts'
import { modernRevision } from './protocol/revisions.ts'
import { answer } from './server.ts'
import type { Session } from './sessions/session.ts'

/** Calls of one client that run at the same time. */
const mostCalls = 100

/** Tells that the client goes away before it has its answer; gives what ends the telling. */
export type WatchDisconnect = (then: () => void) => () => void

export class Calls {
  readonly #deps: McpDeps
  readonly #atOnce = new AtOnce(mostCalls, 'This client', 'calls')
  /** Of legacy sessions, whose clients cancel by a message. */
  readonly #running = new Map<string, Outgoing>()

  constructor(deps: McpDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError for what is answered by status (503, 429). */
  async run(asked: McpRequest, id: Id, codec: Codec, onGone: WatchDisconnect): Promise<Reply> {
    const release = this.#atOnce.begin(clientKeyOf(asked.access))
    const outgoing = new Outgoing(asked.revision === modernRevision ? 'cancels' : 'means_nothing')
    const forget = this.#remember(asked.session, id, outgoing)
    const stopWatching = onGone(() => outgoing.left())
    const call = { ...asked, channel: channelOf(asked, outgoing, this.#deps.sessions), held: { as: null } }
    const answered = this.#answer(call, id, codec).finally(() => {
      release()
      forget()
      stopWatching()
    })
    const first = await outgoing.firstOf(answered)
    if (first !== 'message') return first.answer
    const last = answered.then(
      ({ body }) => body,
      () => rpcError(id, { code: -32603, message: 'Internal error' }),
    )
    return { kind: 'stream', messages: outgoing.messages(last), close: () => outgoing.left() }
  }

  /** `notifications/cancelled`: only of this session's own calls, and only where this process runs them. */
  cancel(session: Session, requestId: unknown): void {
    this.#running.get(keyOf(session, requestId))?.abort()
  }

  #remember(session: Session | null, id: Id, outgoing: Outgoing): () => void {
    if (session === null) return () => {}
    const key = keyOf(session, id)
    this.#running.set(key, outgoing)
    return () => {
      if (this.#running.get(key) === outgoing) this.#running.delete(key)
    }
  }

  async #answer(call: InFlightCall, id: Id, codec: Codec): Promise<Reply & { kind: 'json' }> {
    const context = currentContext()
    if (context !== undefined) context.call = `${call.method} ${targetOf(call.params)} ${id}`.slice(0, 200)
    let result: Result
    try {
      result = await observed(this.#deps, call, () => answer(this.#deps, call))
    } catch (error) {
      this.#note(call, error)
      if (!(error instanceof McpFailure)) throw error
      if (error.kind === 'internal') this.#deps.log.error({ error, method: call.method }, 'A call of a client failed')
      return failed(codec, call.method, id, error)
    }
    this.#note(call, null)
    return json(200, rpcResult(id, codec.result(call.method, result)))
  }

  /** For the owner: which call it was and what was decided, never with what arguments. */
  #note({ access, method, params, held }: InFlightCall, error: unknown): void {
    const isRefused = error instanceof McpFailure && error.kind === 'not_permitted'
    const { decision, reason } =
      held.as ??
      (isRefused
        ? ({ decision: 'refused', reason: error.message } as const)
        : { decision: 'allowed', reason: this.#deps.permission.grantOf(access.caller) ?? 'asked by name' })
    this.#deps.note({ access, method, target: targetOf(params), decision, reason })
  }
}

/** The same number and text are two ids. */
function keyOf({ hash }: Session, id: unknown): string {
  return `${hash} ${JSON.stringify(id)}`
}

/** What a call is about: a name or an address, bounded. */
function targetOf({ name, uri, taskId }: Params): string {
  const target = name ?? uri ?? taskId
  return typeof target === 'string' ? target.slice(0, 200) : ''
}
