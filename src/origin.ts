/**
 * Who made a change, and through what. The transaction of the change carries the text, and every row that it writes keeps
 * it, so it costs no statement of its own; the request's id leads to its line in the audit log and the log.
 */
import { application, type Caller } from './caller.ts'
import { type ContextCaller, currentContext, currentTraceParent } from './observe/context.ts'

export interface Origin {
  /** `creator`, `peer`, `client`, `trustee`, `anonymous`, or `application` where nobody called. */
  readonly by: Caller['kind']
  /** The peer's id, the client's id, or the session of the owner. */
  readonly name?: string | undefined
  /** What a client called, and its id for the call: `tools/call add_note 7`. */
  readonly call?: string | undefined
  readonly request?: string | undefined
  /** `traceparent` of what made it, so that telling peers of it belongs to the same trace. */
  readonly trace?: string | undefined
}

/** Known before the transaction waits for its turn: whoever lets it run may be somebody else's request. */
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

/** The request that runs, for what no change announced, such as a resync after an approval. Empty outside of requests. */
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

/** Null for what was changed before origins were kept. */
export function parseOrigin(text: string): Origin | null {
  return text === '' ? null : (JSON.parse(text) as Origin)
}
