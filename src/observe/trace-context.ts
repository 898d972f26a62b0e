/**
 * W3C Trace Context (level 1): where a request belongs in the trace of whoever sent it. What does not have the form is as
 * good as absent. Baggage is not read, so it goes on to nobody.
 */
import { present } from '../json/present.ts'
import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags, type TraceState } from '@opentelemetry/api'

/** In characters; later versions may be longer than the first, which has 55. */
const longestParent = 256
/** In characters; so many at least are to be passed on (section 3.3.1.5), and no more are. */
const longestState = 512
/** Section 3.3.1.1 */
const mostMembers = 32

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** The values of `traceparent` and `tracestate`, which may be anything; null where there is no trace to belong to. */
export function readTraceContext(traceparent: unknown, tracestate: unknown): SpanContext | null {
  if (typeof traceparent !== 'string' || traceparent.length > longestParent) return null
  const [, version, traceId = '', spanId = '', flags = '', rest] = form.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  const traceState = readState(tracestate)
  const context: SpanContext = present({
    traceId,
    spanId,
    // The other bits mean nothing yet, and are not passed on (section 3.2.2.5).
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    traceState: traceState ?? undefined,
  })
  return isSpanContextValid(context) ? context : null
}

/** Members without the form are dropped; the rest means nothing to us. */
function readState(tracestate: unknown): TraceState | null {
  if (typeof tracestate !== 'string' || tracestate.length > longestState) return null
  if (tracestate.split(',').length > mostMembers) return null
  const state = createTraceState(tracestate)
  return state.serialize() === '' ? null : state
}

/** Names and values of the fields of a request. */
export interface TraceFields {
  readonly traceparent: string
  readonly tracestate?: string
}

export function traceFields({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceFields {
  const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')
  const state = traceState?.serialize() ?? ''
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(state === '' ? {} : { tracestate: state }) }
}
