/**
 * Spans of what the service does, in the words of OpenTelemetry. The operator brings what records them; without it, and
 * without a sender that is in a trace, work runs as if this were not here.
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
  /** Names and numbers of ours: never values, queries, addresses of people or credentials. */
  readonly attributes?: Attributes
  /** The span of the sender, which this one belongs under. */
  readonly sender?: SpanContext | null
  /** Begins anew: what happens to run before it has nothing to do with it. */
  readonly isRoot?: boolean
}

export class Tracing {
  readonly #tracer: Tracer

  /** Whoever registers a provider later is found with the next span. */
  constructor(release: string) {
    this.#tracer = trace.getTracer('troupe', release)
  }

  /** The span ends when the work does; work that rejects fails it. */
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

  /** Whether there is a span that the next one would belong under. */
  isInTrace(): boolean {
    return trace.getSpanContext(surroundings()) !== undefined
  }

  /** For a request that goes out now; null outside a trace. */
  fields(): TraceFields | null {
    const here = trace.getSpanContext(surroundings())
    return here === undefined || !isSpanContextValid(here) ? null : traceFields(here)
  }
}

/** What the application's own instruments began lies within our spans; without them only ours are known. */
function surroundings(): Context {
  const active = context.active()
  return trace.getSpan(active) === undefined ? (currentTrace() ?? active) : active
}

async function ended<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await work(span)
  } catch (error) {
    // Its text may hold what is nobody's business.
    failed(span, 'exception')
    throw error
  } finally {
    span.end()
  }
}

/** @param type a code of ours. */
export function failed(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
