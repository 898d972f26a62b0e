/** Results of calls, in the form of the newest revision. A codec converts them to the revision of the request. */
import type { MessageParams } from './message.ts'

export interface Complete {
  readonly kind: 'complete'
  readonly body: MessageParams
  /** How long a client may cache the result for this caller, in milliseconds. Default: no caching. */
  readonly ttlMs?: number
}

/** The client asks its user, and repeats the call with the answers (2026-07-28, "Multi Round-Trip Requests"). */
export interface InputRequired {
  readonly kind: 'input_required'
  readonly inputRequests: Readonly<Record<string, { readonly method: string; readonly params: object }>>
  readonly requestState: string
}

/** The work continues after the response (tasks extension). */
export interface Deferred {
  readonly kind: 'task'
  readonly body: MessageParams
}

export type McpResult = Complete | InputRequired | Deferred

export function complete(body: MessageParams, ttlMs?: number): Complete {
  return ttlMs === undefined ? { kind: 'complete', body } : { kind: 'complete', body, ttlMs }
}
