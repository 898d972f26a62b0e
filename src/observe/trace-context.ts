/**
 * W3C Trace Context (level 1): the position of a request in its sender's trace. Malformed fields count as absent. Baggage
 * is neither read nor forwarded.
 */
import { present } from '../json/present.ts'
import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags, type TraceState } from '@opentelemetry/api'

/** Maximum length of `traceparent`, in characters. Version 00 has 55; later versions may be longer. */
const longestParent = 256
/** Maximum length of `tracestate`, in characters: the minimum that section 3.3.1.5 requires to forward. */
const longestState = 512
/** Maximum number of members of `tracestate` (section 3.3.1.1). */
const maxMembers = 32

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** Parses `traceparent` and `tracestate`, which are untrusted. Returns null without a valid trace. */
export function readTraceContext(traceparent: unknown, tracestate: unknown): SpanContext | null {
  if (typeof traceparent !== 'string' || traceparent.length > longestParent) return null
  const [, version, traceId = '', spanId = '', flags = '', rest] = form.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  const traceState = readState(tracestate)
  const context: SpanContext = present({
    traceId,
    spanId,
    // The other bits are undefined and must not be forwarded (section 3.2.2.5).
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    traceState: traceState ?? undefined,
  })
  return isSpanContextValid(context) ? context : null
}

/** Drops malformed members and keeps the others without interpreting them. */
function readState(tracestate: unknown): TraceState | null {
  if (typeof tracestate !== 'string' || tracestate.length > longestState) return null
  if (tracestate.split(',').length > maxMembers) return null
  const state = createTraceState(tracestate)
  return state.serialize() === '' ? null : state
}

/** Header fields that send the trace context. */
export interface TraceFields {
  readonly traceparent: string
  readonly tracestate?: string
}

export function traceFields({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceFields {
  const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')
  const state = traceState?.serialize() ?? ''
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(state === '' ? {} : { tracestate: state }) }
}
