/**
 * OpenTelemetry spans of the service's work. The operator installs the SDK that records them. Without an SDK and without a
 * sender in a trace, work runs unchanged.
 */
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { currentTrace, runInTrace } from './context.ts'
import { type TraceFields, traceFields } from './trace-context.ts'

export type { Span, SpanContext }

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
}

export interface SpanStart {
  readonly kind: keyof typeof kinds
  /** Attributes contain only the service's own names and numbers: never values, queries, email addresses or credentials. */
  readonly attributes?: Attributes
  /** The sender's span, which becomes the parent. */
  readonly sender?: SpanContext | null
  /** Starts a new trace, because the surrounding span is unrelated. */
  readonly isRoot?: boolean
}

export class Tracing {
  readonly #tracer: Tracer

  /** A tracer provider that is registered later takes effect with the next span. */
  constructor(release: string) {
    this.#tracer = trace.getTracer('troupe', release)
  }

  /** Runs the work in a span, which ends with the work. A rejection marks the span as failed. */
  run<T>(name: string, start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
    const { kind, attributes = {}, sender = null, isRoot = false } = start
    const around = isRoot ? ROOT_CONTEXT : surroundings()
    const parent = sender === null ? around : trace.setSpanContext(around, sender)
    const beside = sender === null || isRoot ? undefined : trace.getSpanContext(around)
    const links = beside === undefined ? [] : [{ context: beside }]
    const span = this.#tracer.startSpan(name, { kind: kinds[kind], attributes, links }, parent)
    if (!isSpanContextValid(span.spanContext())) return work(span)
    const inside = trace.setSpan(parent, span)
    return runInTrace(inside, () => context.with(inside, () => ended(span, work)))
  }

  /** Whether a new span would have a parent. */
  isInTrace(): boolean {
    return trace.getSpanContext(surroundings()) !== undefined
  }

  /** Whether a span around this code is recorded. */
  isRecording(): boolean {
    return trace.getSpan(surroundings())?.isRecording() === true
  }

  /** Returns the trace headers for an outgoing request; null outside a trace. */
  fields(): TraceFields | null {
    const here = trace.getSpanContext(surroundings())
    return here === undefined || !isSpanContextValid(here) ? null : traceFields(here)
  }
}

/** Returns the active OpenTelemetry context if the application set one, else the context of the service's own spans. */
function surroundings(): Context {
  const active = context.active()
  return trace.getSpan(active) === undefined ? (currentTrace() ?? active) : active
}

async function ended<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await work(span)
  } catch (error) {
    // The error message may contain user data, so the span gets only a code.
    failed(span, 'exception')
    throw error
  } finally {
    span.end()
  }
}

/** @param type An error code of this service, free of user data. */
export function failed(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
