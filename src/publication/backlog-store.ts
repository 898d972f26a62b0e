/** The SQL of backlogs: how far publisher-side subscriptions are behind. */
import type { Queries } from '../store/store.ts'

export type SubscriptionOf = { readonly peerId: string; readonly subscriptionId: string }

export interface Backlog extends SubscriptionOf {
  /** Number of diffs that are still to be sent. */
  readonly waiting: number
  /** Number of diffs that failed finally and were not acknowledged. */
  readonly failed: number
  /** Number of diffs that the peer has not polled yet. */
  readonly unfetched: number
  /** End of the pause of an open circuit (Unix milliseconds). Null: callbacks are sent. */
  readonly pausedUntil: number | null
  /** Time of the next attempt, or the end of the current one (Unix milliseconds). Null: nothing is to be sent. */
  readonly dueAt: number | null
}

/** Backlogs of all subscriptions of an actor, or of these ones. */
export async function findBacklogs(
  q: Queries,
  actorId: string,
  only: readonly SubscriptionOf[] | null = null,
): Promise<Backlog[]> {
  return q.all(
    `SELECT s.peer_id AS "peerId", s.subscription_id AS "subscriptionId", t.open_until AS "pausedUntil",
       s.due_at AS "dueAt",
       SUM(CASE WHEN d.outcome = 'waiting' AND d.sequence > s.committed THEN 1 ELSE 0 END) AS waiting,
       SUM(CASE WHEN d.outcome = 'failed' THEN 1 ELSE 0 END) AS failed,
       SUM(CASE WHEN d.outcome = 'unsent' THEN 1 ELSE 0 END) AS unfetched
     FROM publisher_subscription s
     JOIN trust t ON t.actor_id = s.actor_id AND t.peer_id = s.peer_id
     LEFT JOIN delivery d ON d.actor_id = s.actor_id AND d.peer_id = s.peer_id
       AND d.subscription_id = s.subscription_id AND d.acknowledged_at IS NULL
       AND d.outcome IN ('waiting', 'failed', 'unsent')
     WHERE s.actor_id = $1${only === null ? '' : ` AND ${isOneOf}`} GROUP BY s.peer_id, s.subscription_id, t.open_until, s.due_at`,
    actorId,
    ...(only === null ? [] : [keysOf(only)]),
  )
}

/** Condition: the subscription `s` is among those of parameter 2. */
export const isOneOf =
  '(s.peer_id, s.subscription_id) IN (SELECT peer, subscription FROM rows($2, peer TEXT, subscription TEXT) AS wanted)'

export function keysOf(subscriptions: readonly SubscriptionOf[]): string {
  return JSON.stringify(subscriptions.map(({ peerId, subscriptionId }) => [peerId, subscriptionId]))
}

/** At most `most` subscriptions whose updates do not arrive, of all peers or of one. */
export function findUndelivered(
  q: Queries,
  actorId: string,
  peerId: string | null,
  { now, most }: { readonly now: number; readonly most: number },
): Promise<SubscriptionOf[]> {
  const ofPeer = (alias: string): string => (peerId === null ? '' : ` AND ${alias}.peer_id = $4`)
  return q.all(
    `SELECT each.peer_id AS "peerId", each.subscription_id AS "subscriptionId" FROM (
       SELECT s.peer_id, s.subscription_id FROM publisher_subscription s
       WHERE s.actor_id = $1 AND (s.state = 'stopped' OR s.failing_since IS NOT NULL)${ofPeer('s')}
       UNION
       SELECT s.peer_id, s.subscription_id FROM trust t CROSS JOIN publisher_subscription s
       WHERE s.actor_id = t.actor_id AND s.peer_id = t.peer_id AND t.actor_id = $1
         AND t.open_until > $2 AND s.granularity IN ('high', 'low')${ofPeer('t')}
       UNION
       SELECT d.peer_id, d.subscription_id FROM delivery d
       WHERE d.actor_id = $1 AND d.outcome = 'failed' AND d.acknowledged_at IS NULL${ofPeer('d')}
       LIMIT $3) AS each`,
    actorId,
    now,
    most,
    ...(peerId === null ? [] : [peerId]),
  )
}

/**
 * Counts the subscriptions with a failed change that was not acknowledged, those that are stopped, and those of a peer whose
 * circuit is not closed. At most `most`.
 */
export async function countFailing(q: Queries, actorId: string, most: number): Promise<number> {
  const row = await q.get<{ failing: number }>(
    `SELECT COUNT(*) AS failing FROM (
       SELECT s.peer_id, s.subscription_id FROM publisher_subscription s WHERE s.actor_id = $1 AND s.state = 'stopped'
       UNION
       SELECT s.peer_id, s.subscription_id FROM trust t CROSS JOIN publisher_subscription s
       WHERE s.actor_id = t.actor_id AND s.peer_id = t.peer_id AND t.actor_id = $1
         AND t.open_until IS NOT NULL AND s.granularity IN ('high', 'low')
       UNION
       SELECT d.peer_id, d.subscription_id FROM delivery d
       WHERE d.actor_id = $1 AND d.outcome = 'failed' AND d.acknowledged_at IS NULL
       LIMIT $2) AS each`,
    actorId,
    most,
  )
  return row?.failing ?? 0
}
