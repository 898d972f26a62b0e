/** A subscription in words: what it is about, and whether its updates arrive. */
import type { SubscriptionWithBacklog } from '../../publication/publications.ts'
import { deliversCallbacks, type Scope } from '../../subscription/scope.ts'
import type { Messages } from '../languages/language.ts'
import { visible } from '../shared/visible.ts'

export function publisherState(
  { subscription, backlog }: SubscriptionWithBacklog,
  now: number,
  { subscriptions: words }: Messages,
): { readonly state: string; readonly is_in_order: boolean } {
  const { state, failingSince, granularity } = subscription
  const { waiting = 0, failed = 0, unfetched = 0, pausedUntil = null } = backlog ?? {}
  if (state === 'stopped') return { state: words.stopped(failed), is_in_order: false }
  if (failed > 0) return { state: words.failed(failed), is_in_order: false }
  if (!deliversCallbacks(granularity))
    return { state: unfetched === 0 ? words.upToDate : words.toFetch(unfetched), is_in_order: true }
  if (pausedUntil !== null && pausedUntil > now) return { state: words.unreachable(waiting), is_in_order: false }
  if (failingSince !== null) return { state: words.retrying(waiting), is_in_order: false }
  return { state: waiting === 0 ? words.upToDate : words.sending(waiting), is_in_order: true }
}

export function aboutOf({ target, subtarget, resource }: Scope, { subscriptions: words }: Messages): string {
  if (subtarget === '') return target === 'properties' ? words.allProperties : words.everythingIn(visible(target))
  return visible(`${target === 'properties' ? '' : `${target}/`}${subtarget}${resource === '' ? '' : `/${resource}`}`)
}
