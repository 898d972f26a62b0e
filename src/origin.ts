/**
 * Records who made a change, and by which call. The transaction carries the record, and every row that it writes stores
 * it, so the record needs no extra statement. The request's id leads to the audit log and the log.
 */
import { application, type Caller } from './caller.ts'
import { type ContextCaller, currentContext, currentTraceParent } from './observe/context.ts'

export interface Origin {
  /** `creator`, `peer`, `client`, `trustee`, `anonymous`, or `application` for a change without a request. */
  readonly by: Caller['kind']
  /** The peer's id, the client's id, or the session of the owner. */
  readonly name?: string | undefined
  /** The method, name and id of a client's call, such as `tools/call add_note 7`. */
  readonly call?: string | undefined
  readonly request?: string | undefined
  /** The `traceparent` of the change, so that its deliveries to peers belong to the same trace. */
  readonly trace?: string | undefined
}

/** Serializes the origin. Call it before the transaction is queued, because another request's context may run the transaction. */
export function originText(by: Caller): string {
  const context = currentContext()
  const caller = context?.caller ?? by
  const origin: Origin = {
    by: caller.kind,
    name: nameIn(caller),
    call: context?.call,
    request: context?.requestId,
    trace: currentTraceParent(),
  }
  return JSON.stringify(origin)
}

/**
 * Returns who caused the current request, for work that changes no data, such as a resync. Empty outside of requests.
 */
export function requestOrigin(): string {
  const caller = currentContext()?.caller
  return caller === undefined || caller === null ? '' : originText(application)
}

function nameIn(caller: ContextCaller): string | undefined {
  switch (caller.kind) {
    case 'peer':
      return caller.peerId
    case 'client':
      return caller.clientId
    case 'creator':
      return caller.session
    default:
      return undefined
  }
}

/** Returns null for a change that was made before origins were stored. */
export function parseOrigin(text: string): Origin | null {
  return text === '' ? null : (JSON.parse(text) as Origin)
}
