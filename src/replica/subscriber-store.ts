/** The SQL of subscriber-side subscriptions, and of callbacks that wait for earlier ones. */
import { known } from '../json/json.ts'
import { claimByActor, naming } from '../store/by-key.ts'
import type { Queries, Row, Transaction } from '../store/store.ts'
import type { Numbered, SubscriberKey, SubscriberSubscription } from './subscriber.ts'
import { keptText } from './processor.ts'

const columns = `actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId", target, subtarget, resource,
  granularity, sequence, gap_due_at AS "gapDueAt", resync_pending AS "resyncPending", is_unknown AS "isUnknown", attempts,
  created_at AS "createdAt"`

function toSubscription(row: Row<SubscriberSubscription>): SubscriberSubscription {
  return { ...row, resyncPending: row.resyncPending !== 0, isUnknown: row.isUnknown !== 0 }
}

const ofKey = 'actor_id = $1 AND peer_id = $2 AND subscription_id = $3'

function keyOf({ actorId, peerId, subscriptionId }: SubscriberKey): [string, string, string] {
  return [actorId, peerId, subscriptionId]
}

/** Inserts a subscription, or keeps the existing row. @throws ServiceError `conflict` when the relationship does not exist. */
export async function insertSubscriberSubscription(
  tx: Transaction,
  subscription: SubscriberSubscription,
): Promise<void> {
  await tx.run(
    `INSERT INTO subscriber_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
       sequence, gap_due_at, resync_pending, attempts, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     ON CONFLICT (actor_id, peer_id, subscription_id) DO NOTHING`,
    ...keyOf(subscription),
    subscription.target,
    subscription.subtarget,
    subscription.resource,
    subscription.granularity,
    subscription.sequence,
    subscription.gapDueAt,
    Number(subscription.resyncPending),
    subscription.attempts,
    subscription.createdAt,
  )
}

export async function findSubscriberSubscription(
  q: Queries,
  key: SubscriberKey,
): Promise<SubscriberSubscription | null> {
  const row = await q.get<Row<SubscriberSubscription>>(
    `SELECT ${columns} FROM subscriber_subscription WHERE ${ofKey}`,
    ...keyOf(key),
  )
  return row === undefined ? null : toSubscription(row)
}

/** Oldest first. `peerId` null: of all peers. */
export async function findSubscriberSubscriptions(
  q: Queries,
  actorId: string,
  peerId: string | null = null,
): Promise<SubscriberSubscription[]> {
  const rows = await q.all<Row<SubscriberSubscription>>(
    `SELECT ${columns} FROM subscriber_subscription WHERE actor_id = $1${peerId === null ? '' : ' AND peer_id = $2'}
     ORDER BY created_at, peer_id, subscription_id`,
    actorId,
    ...(peerId === null ? [] : [peerId]),
  )
  return rows.map(toSubscription)
}

/** Sync state: what was applied, and what is missing. */
export type Progress = Pick<
  SubscriberSubscription,
  'sequence' | 'gapDueAt' | 'resyncPending' | 'isUnknown' | 'attempts'
>

export async function saveProgress(tx: Transaction, key: SubscriberKey, progress: Progress): Promise<void> {
  await tx.run(
    `UPDATE subscriber_subscription SET sequence = $4, gap_due_at = $5, resync_pending = $6, is_unknown = $7,
       attempts = $8, leased_until = 0
     WHERE ${ofKey}`,
    ...keyOf(key),
    progress.sequence,
    progress.gapDueAt,
    Number(progress.resyncPending),
    Number(progress.isUnknown),
    progress.attempts,
  )
}

/** Deletes a subscription with its pending callbacks. False: it did not exist. */
export async function deleteSubscriberSubscription(tx: Transaction, key: SubscriberKey): Promise<boolean> {
  return (await tx.run(`DELETE FROM subscriber_subscription WHERE ${ofKey}`, ...keyOf(key))) === 1
}

/** Keeps the first callback with a sequence number. */
export async function insertPending(
  tx: Transaction,
  key: SubscriberKey,
  { sequence, body }: Numbered,
  now: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO pending_callback (actor_id, peer_id, subscription_id, sequence, body, received_at)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (actor_id, peer_id, subscription_id, sequence) DO NOTHING`,
    ...keyOf(key),
    sequence,
    body,
    now,
  )
}

/** Sequence numbers of the pending callbacks, ascending. */
export async function findPendingNumbers(q: Queries, key: SubscriberKey): Promise<number[]> {
  const rows = await q.all<{ sequence: number }>(
    `SELECT sequence FROM pending_callback WHERE ${ofKey} ORDER BY sequence`,
    ...keyOf(key),
  )
  return rows.map(({ sequence }) => sequence)
}

/** Pending callbacks from `from` to `to`, both included, ascending. */
export async function findPending(q: Queries, key: SubscriberKey, from: number, to: number): Promise<Numbered[]> {
  return q.all<{ sequence: number; body: string }>(
    `SELECT sequence, body FROM pending_callback WHERE ${ofKey} AND sequence >= $4 AND sequence <= $5
     ORDER BY sequence`,
    ...keyOf(key),
    from,
    to,
  )
}

export async function deletePendingUpTo(tx: Transaction, key: SubscriberKey, sequence: number): Promise<void> {
  await tx.run(`DELETE FROM pending_callback WHERE ${ofKey} AND sequence <= $4`, ...keyOf(key), sequence)
}

/** Deletes callbacks above the peer's own `sequence` that arrived before the peer was asked. The peer did not send them. */
export async function deletePendingAbove(
  tx: Transaction,
  key: SubscriberKey,
  sequence: number,
  receivedBefore: number,
): Promise<void> {
  await tx.run(
    `DELETE FROM pending_callback WHERE ${ofKey} AND sequence > $4 AND received_at < $5`,
    ...keyOf(key),
    sequence,
    receivedBefore,
  )
}

/**
 * Empties the pending callbacks: rights to their data may have been revoked, and the full state includes the rest.
 * Returns false when no callback was pending.
 */
export async function emptyPending(tx: Transaction, { actorId, peerId }: OfPeer): Promise<boolean> {
  const nothing = keptText({ data: known('{}'), replaces: false, granularity: '' })
  const emptied = await tx.run(
    'UPDATE pending_callback SET body = $3 WHERE actor_id = $1 AND peer_id = $2',
    actorId,
    peerId,
    nothing,
  )
  return emptied > 0
}

/** Schedules a snapshot for every known subscription to the peer. False: no such subscription. */
export async function markForFetch(tx: Transaction, of: OfPeer, now: number): Promise<boolean> {
  return (await mark(tx, of, now, 0)) > 0
}

/** Like `markForFetch`, including subscriptions that the peer answered with 404. */
export async function markAllForFetch(tx: Transaction, of: OfPeer, now: number): Promise<void> {
  await mark(tx, of, now, 1)
}

type OfPeer = Pick<SubscriberKey, 'actorId' | 'peerId'>

async function mark(tx: Transaction, { actorId, peerId }: OfPeer, now: number, mostUnknown: 0 | 1): Promise<number> {
  return tx.run(
    `UPDATE subscriber_subscription SET resync_pending = 1, gap_due_at = $3, attempts = 0
     WHERE actor_id = $1 AND peer_id = $2 AND is_unknown <= $4`,
    actorId,
    peerId,
    now,
    mostUnknown,
  )
}

/** Earliest and latest time at which a gap leads to a resync. Null: no gaps. */
export async function findGapsDue(q: Queries): Promise<{ readonly next: number; readonly last: number } | null> {
  const row = await q.get<{ next: number | null; last: number | null }>(
    `/* receiving */ SELECT (SELECT MIN(gap_due_at) FROM subscriber_subscription WHERE gap_due_at IS NOT NULL) AS next,
       (SELECT MAX(gap_due_at) FROM subscriber_subscription WHERE gap_due_at IS NOT NULL) AS last`,
  )
  const { next = null, last = null } = row ?? {}
  return next === null || last === null ? null : { next, last }
}

/** Makes gaps due now that are due after `beyond`. */
export async function bringGapsForward(tx: Transaction, beyond: number, now: number): Promise<void> {
  await tx.run('/* receiving */ UPDATE subscriber_subscription SET gap_due_at = $2 WHERE gap_due_at > $1', beyond, now)
}

/** Leases subscriptions with due gaps until `until`. */
export async function claimGaps(
  tx: Transaction,
  { now, until, limit }: { readonly now: number; readonly until: number; readonly limit: number },
): Promise<SubscriberKey[]> {
  return claimByActor(
    tx,
    () =>
      tx.all(
        `/* receiving */ SELECT actor_id AS "actorId" FROM subscriber_subscription WHERE gap_due_at <= $1
         GROUP BY actor_id ORDER BY MIN(gap_due_at) LIMIT $2`,
        now,
        limit,
      ),
    limit,
    (only, most) => {
      const named = naming(only, 'actor_id', 4)
      return tx.all<SubscriberKey>(
        `/* receiving */ UPDATE subscriber_subscription SET gap_due_at = $2, leased_until = $2
     WHERE (actor_id, peer_id, subscription_id) IN (
       SELECT actor_id, peer_id, subscription_id FROM subscriber_subscription
       WHERE gap_due_at <= $1${named.sql} ORDER BY gap_due_at LIMIT $3 FOR UPDATE SKIP LOCKED)${named.sql}
     RETURNING actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId"`,
        now,
        until,
        most,
        ...named.params,
      )
    },
  )
}
