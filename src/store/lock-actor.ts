/** The statement that locks an actor's row. */
import { ServiceError } from '../errors.ts'
import type { LockedActor } from './store.ts'

export const LOCK_ACTOR = `SELECT id, creator, subscription_count AS "subscriptionCount", watched_until AS "watchedUntil",
     CASE WHEN subscription_count > 0 AND EXISTS (
       SELECT 1 FROM publisher_subscription s WHERE s.actor_id = $1 AND s.resource <> ''
     ) THEN 1 ELSE 0 END AS "hasKeySubscriptions"
   FROM actor WHERE id = $1 FOR UPDATE`

export function requireActor(actor: LockedActor | undefined): LockedActor {
  if (actor === undefined) throw new ServiceError('actor_not_found')
  return actor
}
