/** What a call leads to, in the widest shape of all revisions; a codec brings it to the one that was asked for. */
import type { Params } from './message.ts'

export interface Complete {
  readonly kind: 'complete'
  readonly body: Params
  /** How long a client may keep it, in milliseconds; absent where nothing may be kept. Always for this caller alone. */
  readonly ttlMs?: number
}

/** The client has to ask its person, and come again (2026-07-28, "Multi Round-Trip Requests"). */
export interface InputRequired {
  readonly kind: 'input_required'
  readonly inputRequests: Readonly<Record<string, { readonly method: string; readonly params: object }>>
  readonly requestState: string
}

/** The work goes on behind the answer (tasks extension). */
export interface Deferred {
  readonly kind: 'task'
  readonly body: Params
}

export type Result = Complete | InputRequired | Deferred

export function complete(body: Params, ttlMs?: number): Complete {
  return ttlMs === undefined ? { kind: 'complete', body } : { kind: 'complete', body, ttlMs }
}
