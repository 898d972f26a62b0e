/** Requests an application-defined page from the handlers of the application. */
import type { ActorHandle } from '../app/actor-handle.ts'
import type { PageCall } from '../app/declarations.ts'
import { isResponse } from '../app/handler-response.ts'
import type { Registry } from '../app/registry.ts'
import { isRecord } from '../json/is-record.ts'
import { callLog } from '../observe/call-log.ts'
import type { Log } from '../observe/log.ts'
import type { Access } from '../property/access.ts'

export type OwnPage =
  | { readonly kind: 'page'; readonly template: string; readonly data: Readonly<Record<string, unknown>> }
  | { readonly kind: 'data'; readonly data: object }
  | { readonly kind: 'response'; readonly response: Response }

export type OwnPageCall = Omit<PageCall, 'actor' | 'caller' | 'log' | 'requestId'>

/** The first object that a page handler returns. Null when no handler returns one. */
export async function ownPage(
  deps: {
    readonly registry: Registry
    readonly handleOf: (actor: Access['actor']) => ActorHandle
    readonly log: Log
  },
  { actor, caller }: Access,
  call: OwnPageCall,
): Promise<OwnPage | null> {
  const handle = deps.handleOf(actor)
  // The path may name a person.
  const ofCall = callLog(deps.log, 'www', actor.id)
  for (const handler of deps.registry.of(actor).pageHandlers) {
    const result = await handler({ ...call, ...ofCall, actor: handle, caller })
    if (isResponse(result)) return { kind: 'response', response: result }
    if (!isRecord(result)) continue
    const { template, data } = result
    if (typeof template !== 'string') return { kind: 'data', data: result }
    return { kind: 'page', template, data: isRecord(data) ? data : {} }
  }
  return null
}
