/** The SQL of how far the peers' subscriptions of one actor are behind. */
import type { Queries } from '../store/store.ts'

export type SubscriptionOf = { readonly peerId: string; readonly subscriptionId: string }

export interface Backlog extends SubscriptionOf {
  /** Numbers that are still to be sent. */
  readonly waiting: number
  /** Numbers that failed for good and that the peer has not got in another way. */
  readonly failed: number
  /** Numbers that the peer has to fetch. */
  readonly unfetched: number
  /** Nothing is sent to the peer before, because it could not be reached (Unix milliseconds); null when it is. */
  readonly pausedUntil: number | null
}

/** One for each subscription, or for one alone. */
export async function findBacklogs(q: Queries, actorId: string, one: SubscriptionOf | null = null): Promise<Backlog[]> {
  return q.all(
    `SELECT s.peer_id AS "peerId", s.subscription_id AS "subscriptionId", t.open_until AS "pausedUntil",
       SUM(CASE WHEN d.outcome = 'waiting' AND d.sequence > s.committed THEN 1 ELSE 0 END) AS waiting,
       SUM(CASE WHEN d.outcome = 'failed' THEN 1 ELSE 0 END) AS failed,
       SUM(CASE WHEN d.outcome = 'unsent' THEN 1 ELSE 0 END) AS unfetched
     FROM publisher_subscription s
     JOIN trust t ON t.actor_id = s.actor_id AND t.peer_id = s.peer_id
     LEFT JOIN delivery d ON d.actor_id = s.actor_id AND d.peer_id = s.peer_id
       AND d.subscription_id = s.subscription_id AND d.acknowledged_at IS NULL
       AND d.outcome IN ('waiting', 'failed', 'unsent')
     WHERE s.actor_id = $1${one === null ? '' : ' AND s.peer_id = $2 AND s.subscription_id = $3'} GROUP BY s.peer_id, s.subscription_id, t.open_until`,
    actorId,
    ...(one === null ? [] : [one.peerId, one.subscriptionId]),
  )
}
