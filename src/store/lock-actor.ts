/** The statement that locks an actor's row. */
import { actorClosed, actorMoving, ServiceError } from '../errors.ts'
import type { LockedActor } from './store.ts'

/**
 * Reads the row of the actor alone. When PostgreSQL waits for the lock, it then returns the new columns of the row, but it
 * would read other tables as they were before the wait.
 */
export const LOCK_ACTOR = `SELECT id, creator, subscription_count AS "subscriptionCount",
     key_subscription_count AS "keySubscriptionCount", waiting_changes AS "waitingChanges", watched_until AS "watchedUntil",
     observer_count AS "observerCount", used_bytes AS "usedBytes", used_names AS "usedNames", used_items AS "usedItems", residence, kind
   FROM actor WHERE id = $1 FOR UPDATE`

/**
 * @throws ServiceError `actor_not_found`; `actor_moving`, `actor_moved` for an actor that lives at another service;
 *   `unavailable` while its content is replaced; `actor_suspended`.
 */
export function requireActor(actor: LockedActor | undefined): LockedActor {
  if (actor === undefined) throw new ServiceError('actor_not_found')
  if (actor.residence === 'here') return actor
  if (actor.residence === 'replacing') throw actorClosed()
  if (actor.residence === 'suspended') throw new ServiceError('actor_suspended')
  throw actor.residence === 'moved' ? new ServiceError('actor_moved') : actorMoving()
}
