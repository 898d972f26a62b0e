/** The statement that locks an actor's row. */
import { ServiceError } from '../errors.ts'
import type { LockedActor } from './store.ts'

/**
 * Reads the row of the actor alone. When PostgreSQL waits for the lock, it then returns the new columns of the row, but it
 * would read other tables as they were before the wait.
 */
export const LOCK_ACTOR = `SELECT id, creator, subscription_count AS "subscriptionCount",
     key_subscription_count AS "keySubscriptionCount", waiting_changes AS "waitingChanges", watched_until AS "watchedUntil",
     webhook_count AS "webhookCount"
   FROM actor WHERE id = $1 FOR UPDATE`

export function requireActor(actor: LockedActor | undefined): LockedActor {
  if (actor === undefined) throw new ServiceError('actor_not_found')
  return actor
}
