/** What every log line of one request carries. */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface RequestContext {
  readonly requestId: string
  actorId: string | null
  peerId: string | null
  /** How many changes, each caused by the news of the one before, led to this request. None unless given. */
  hops?: number
  /** Who was let in, once that is known. */
  caller?: ContextCaller | null
  /** What an AI client called, and its id for the call. */
  call?: string
}

/** As `Caller` of auth, which this room does not know. */
export type ContextCaller =
  | { readonly kind: 'anonymous' | 'application' | 'trustee' }
  | { readonly kind: 'creator'; readonly session?: string }
  | { readonly kind: 'peer'; readonly peerId: string }
  | { readonly kind: 'client'; readonly clientId: string }

const current = new AsyncLocalStorage<RequestContext>()

export function runInContext<T>(context: RequestContext, work: () => T): T {
  return current.run(context, work)
}

export function currentContext(): RequestContext | undefined {
  return current.getStore()
}

/**
 * `[request_id:actor_id:peer_id]`: the last 8 characters of the request id without hyphens, the actor, and the peer id
 * after its last colon; `-` for what is absent.
 */
export function contextTag(context: RequestContext | undefined = current.getStore()): string {
  if (context === undefined) return '[-:-:-]'
  const request = context.requestId.replaceAll('-', '').slice(-8)
  const peer = context.peerId?.slice(context.peerId.lastIndexOf(':') + 1)
  return `[${request || '-'}:${context.actorId || '-'}:${peer || '-'}]`
}
