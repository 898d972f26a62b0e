/** The context of the running request or background work, for log lines, traces and the audit log. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type SpanContext, trace } from '@opentelemetry/api'
import { traceFields } from './trace-context.ts'

export interface RequestContext {
  readonly requestId: string
  /** Describes the device of the request, such as `Firefox on Linux`. */
  readonly device?: () => string
  /** The language of the pages that the browser of the request sees, a BCP 47 tag. */
  readonly language?: () => string
  actorId: string | null
  peerId: string | null
  /** Length of the chain of changes, each triggered by the previous one, that led to this request. Default: 0. */
  hops?: number
  /** The caller, once authenticated. */
  caller?: ContextCaller | null
  /** Reason why the caller's latest access was allowed, for the audit log. */
  grant?: string | null
  /** The rights that the caller used, when the response will be kept. Undefined: they are not collected. */
  granted?: Map<string, GrantedRight>
  /** Method and request id of an AI client's call. */
  call?: string
  /** Acts of the owner that the request has made. */
  acts?: readonly OwnAct[]
  /** The request decided about a request to connect, which has an entry of its own in the audit log. */
  isDecision?: boolean
}

/** The same shape as `Operation`, which this module may not import. */
export interface GrantedRight {
  readonly category: string
  readonly right: string
  readonly target: string
}

/** An act of the owner that changes who may reach the actor, with the method and the path of the API. */
export interface OwnAct {
  readonly actorId: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path below the actor. */
  readonly path: string
}

/** The same shape as `Caller`, which this module may not import. */
export type ContextCaller =
  | { readonly kind: 'anonymous' | 'application' | 'trustee' }
  | { readonly kind: 'creator'; readonly session?: string }
  | { readonly kind: 'peer'; readonly peerId: string }
  | { readonly kind: 'client'; readonly clientId: string }

interface Scope {
  /** Undefined for work that no request started. */
  readonly request: RequestContext | undefined
  /** The OpenTelemetry context with the current span. */
  readonly trace: Context | undefined
  /** No response waits for the work. */
  readonly isBackground: boolean
}

const current = new AsyncLocalStorage<Scope>()

/** Runs the work of a request outside any trace, because the surrounding code may belong to an unrelated trace. */
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

/** Returns the trace id, 32 hexadecimal digits; undefined outside a trace. */
export function currentTraceId(): string | undefined {
  return currentSpan()?.traceId
}

/** Returns `traceparent` for work that runs later in the same trace; undefined outside a trace. */
export function currentTraceParent(): string | undefined {
  const span = currentSpan()
  return span === undefined ? undefined : traceFields(span).traceparent
}

function currentSpan(): SpanContext | undefined {
  const inside = currentTrace()
  return inside === undefined ? undefined : trace.getSpanContext(inside)
}

/**
 * Returns `[request_id:actor_id:peer_id]`: the last 8 characters of the request id without hyphens, the actor id, and the
 * peer id after its last colon. `-` replaces an absent part.
 */
export function contextTag(context: RequestContext | undefined = currentContext()): string {
  if (context === undefined) return '[-:-:-]'
  const request = context.requestId.replaceAll('-', '').slice(-8)
  const peer = context.peerId?.slice(context.peerId.lastIndexOf(':') + 1)
  return `[${request || '-'}:${context.actorId || '-'}:${peer || '-'}]`
}
