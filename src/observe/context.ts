/** What every log line of one request carries. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type SpanContext, trace } from '@opentelemetry/api'
import { traceFields } from './trace-context.ts'

export interface RequestContext {
  readonly requestId: string
  actorId: string | null
  peerId: string | null
  /** How many changes, each caused by the news of the one before, led to this request. None unless given. */
  hops?: number
  /** Who was let in, once that is known. */
  caller?: ContextCaller | null
  /** Why the last thing that the caller wanted was allowed, for the audit log. */
  grant?: string | null
  /** What an AI client called, and its id for the call. */
  call?: string
}

/** As `Caller` of auth, which this room does not know. */
export type ContextCaller =
  | { readonly kind: 'anonymous' | 'application' | 'trustee' }
  | { readonly kind: 'creator'; readonly session?: string }
  | { readonly kind: 'peer'; readonly peerId: string }
  | { readonly kind: 'client'; readonly clientId: string }

interface Scope {
  /** Undefined for work of the application that no request began. */
  readonly request: RequestContext | undefined
  /** With the span that runs. */
  readonly trace: Context | undefined
  /** No response waits for the work. */
  readonly isBackground: boolean
}

const current = new AsyncLocalStorage<Scope>()

/** Outside every trace: whose work happens to run now has nothing to do with it. */
export function runInContext<T>(request: RequestContext, work: () => T): T {
  return current.run({ request, trace: undefined, isBackground: false }, work)
}

/**
 * Runs work that no response waits for, outside every trace. Without `request` the work belongs to no request: the
 * request that happens to wake a worker did not cause what the worker does from then on.
 */
export function runInBackground<T>(work: () => T, request?: RequestContext): T {
  return current.run({ request, trace: undefined, isBackground: true }, work)
}

/** Runs work that the current request caused and its response does not wait for. Keeps the request and the trace. */
export function runBehindResponse<T>(work: () => T): T {
  return current.run({ request: currentContext(), trace: currentTrace(), isBackground: true }, work)
}

/** Whether the work that runs now was started by `runInBackground` or `runBehindResponse`. */
export function isInBackground(): boolean {
  return current.getStore()?.isBackground ?? false
}

export function currentContext(): RequestContext | undefined {
  return current.getStore()?.request
}

export function runInTrace<T>(inside: Context, work: () => T): T {
  return current.run({ request: currentContext(), trace: inside, isBackground: isInBackground() }, work)
}

export function currentTrace(): Context | undefined {
  return current.getStore()?.trace
}

/** 32 hexadecimal digits; undefined outside a trace. */
export function currentTraceId(): string | undefined {
  return currentSpan()?.traceId
}

/** For what is done later, and belongs to it; undefined outside a trace. */
export function currentTraceParent(): string | undefined {
  const span = currentSpan()
  return span === undefined ? undefined : traceFields(span).traceparent
}

function currentSpan(): SpanContext | undefined {
  const inside = currentTrace()
  return inside === undefined ? undefined : trace.getSpanContext(inside)
}

/**
 * `[request_id:actor_id:peer_id]`: the last 8 characters of the request id without hyphens, the actor, and the peer id
 * after its last colon; `-` for what is absent.
 */
export function contextTag(context: RequestContext | undefined = currentContext()): string {
  if (context === undefined) return '[-:-:-]'
  const request = context.requestId.replaceAll('-', '').slice(-8)
  const peer = context.peerId?.slice(context.peerId.lastIndexOf(':') + 1)
  return `[${request || '-'}:${context.actorId || '-'}:${peer || '-'}]`
}
