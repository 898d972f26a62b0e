/**
 * Puts every copy in doubt when the data continues a copy. Peers may have changes of the original that are lost here, so each
 * subscriber gets the full state, and each copy of a peer's data is fetched again.
 */
import type { Transaction } from '../store/store.ts'

/** The subscriptions whose copies are in doubt. */
export interface DoubtfulCopies {
  /** Subscriptions of peers at actors of this store. */
  readonly subscribers: number
  /** Subscriptions of actors of this store at peers. */
  readonly subscribed: number
}

/**
 * How far sequence numbers move on. The original may have used this many after the copy, and a subscriber ignores a number that it
 * knows. Peers may store numbers in 32 bits, so the step leaves room for a thousand restores.
 */
const step = 1_000_000
/** One resync, and one fetch, for so many milliseconds on average. All are due within an hour: a later time would mean a wrong clock. */
const pauseMs = 50
const longestMs = 3_600_000

/** Condition: callbacks are sent for the subscription. A suspended one gets its resync on resume. */
const isSent = `granularity IN ('high', 'low') AND NOT EXISTS (SELECT 1 FROM suspension u
    WHERE u.actor_id = publisher_subscription.actor_id AND u.target = publisher_subscription.target
      AND u.subtarget IN ('', publisher_subscription.subtarget))`

/** Resyncs and fetches are spread over time by the milliseconds in which their subscriptions were created. */
export async function doubtCopies(tx: Transaction, now: number): Promise<DoubtfulCopies> {
  const counts = await tx.get<DoubtfulCopies>(
    `/* restore */ SELECT (SELECT COUNT(*) FROM publisher_subscription) AS subscribers,
       (SELECT COUNT(*) FROM subscriber_subscription) AS subscribed`,
  )
  const { subscribers, subscribed } = counts ?? { subscribers: 0, subscribed: 0 }
  await doubtSubscribers(tx, now, spreadMs(subscribers))
  await tx.run('/* restore */ DELETE FROM pending_callback')
  await tx.run(
    `/* restore */ UPDATE subscriber_subscription SET resync_pending = 1, attempts = 0, leased_until = 0,
       gap_due_at = CAST($1 AS BIGINT) + ABS(created_at) % CAST($2 AS BIGINT)`,
    now,
    spreadMs(subscribed),
  )
  // The resumption of a suspended actor makes its work due.
  for (const [table, column] of [
    ['publisher_subscription', 'due_at'],
    ['subscriber_subscription', 'gap_due_at'],
  ])
    await tx.run(
      `/* restore */ UPDATE ${table} SET ${column} = NULL
       WHERE actor_id IN (SELECT id FROM actor WHERE residence = 'suspended')`,
    )
  return { subscribers, subscribed }
}

function spreadMs(subscriptions: number): number {
  return Math.max(1, Math.min(longestMs, subscriptions * pauseMs))
}

/**
 * Raises the sequence numbers, and replaces all diffs by one resync, so that it arrives before later changes. Diffs of the copy
 * have numbers that the original may have used for other changes.
 */
async function doubtSubscribers(tx: Transaction, now: number, spread: number): Promise<void> {
  await tx.run(
    `/* restore */ UPDATE delivery SET outcome = 'superseded' WHERE outcome IN ('waiting', 'unsent') AND sequence > (
       SELECT s.committed FROM publisher_subscription s WHERE s.actor_id = delivery.actor_id
         AND s.peer_id = delivery.peer_id AND s.subscription_id = delivery.subscription_id)`,
  )
  // The full state deletes nothing, so the peers get these deletions after it.
  await tx.run(
    `/* restore */ INSERT INTO missed_deletion (actor_id, peer_id, subscription_id, about, data, is_shown)
     SELECT diff.actor_id, diff.peer_id, diff.subscription_id, 'diff ' || diff.sequence, diff.deletions, 1 FROM diff
     JOIN delivery ON delivery.actor_id = diff.actor_id AND delivery.peer_id = diff.peer_id
       AND delivery.subscription_id = diff.subscription_id AND delivery.sequence = diff.sequence
     JOIN publisher_subscription s ON s.actor_id = diff.actor_id AND s.peer_id = diff.peer_id
       AND s.subscription_id = diff.subscription_id
     WHERE diff.deletions <> '' AND delivery.outcome IN ('failed', 'superseded') AND s.granularity IN ('high', 'low')
     ON CONFLICT DO NOTHING`,
  )
  await tx.run('/* restore */ DELETE FROM diff')
  // A stopped subscription writes its resync when its repair is due.
  await tx.run(
    `/* restore */ UPDATE publisher_subscription SET committed = sequence + $1, attempts = 0, uncertain = 0, leased_until = 0,
       sequence = sequence + $1 + CASE WHEN state = 'live' AND ${isSent} THEN 1 ELSE 0 END,
       failing_since = CASE WHEN ${isSent} THEN CAST($2 AS BIGINT) END, repairs = 0,
       repair_at = CASE WHEN ${isSent} THEN CAST($2 AS BIGINT) + ABS(created_at) % CAST($3 AS BIGINT) END,
       due_at = CASE WHEN ${isSent} THEN CAST($2 AS BIGINT) + ABS(created_at) % CAST($3 AS BIGINT) END`,
    step,
    now,
    spread,
  )
  await tx.run(
    `/* restore */ INSERT INTO diff (actor_id, peer_id, subscription_id, sequence, kind, data, replaces, created_at)
     SELECT s.actor_id, s.peer_id, s.subscription_id, s.sequence, 'resync', '""', 0, CAST($1 AS BIGINT)
     FROM publisher_subscription s WHERE s.sequence > s.committed`,
    now,
  )
  await tx.run(
    `/* restore */ INSERT INTO delivery (actor_id, peer_id, subscription_id, sequence, written_at)
     SELECT s.actor_id, s.peer_id, s.subscription_id, s.sequence, CAST($1 AS BIGINT)
     FROM publisher_subscription s WHERE s.sequence > s.committed`,
    now,
  )
}
