/** The SQL of this actor's subscriptions to peers, and of callbacks that wait for the ones before them. */
import { known } from '../json/json.ts'
import type { Queries, Row, Transaction } from '../store/store.ts'
import type { Numbered, OutboundKey, OutboundSubscription } from './subscriber.ts'
import { keptText } from './processor.ts'

const columns = `actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId", target, subtarget, resource,
  granularity, sequence, gap_due_at AS "gapDueAt", resync_pending AS "resyncPending", is_unknown AS "isUnknown", attempts,
  created_at AS "createdAt"`

function toOutbound(row: Row<OutboundSubscription>): OutboundSubscription {
  return { ...row, resyncPending: row.resyncPending !== 0, isUnknown: row.isUnknown !== 0 }
}

const ofKey = 'actor_id = $1 AND peer_id = $2 AND subscription_id = $3'

function keyOf({ actorId, peerId, subscriptionId }: OutboundKey): [string, string, string] {
  return [actorId, peerId, subscriptionId]
}

/** One that is known already stays as it is. @throws ServiceError `conflict` when the relationship is gone. */
export async function insertOutbound(tx: Transaction, subscription: OutboundSubscription): Promise<void> {
  await tx.run(
    `INSERT INTO outbound_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
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

export async function findOutbound(q: Queries, key: OutboundKey): Promise<OutboundSubscription | null> {
  const row = await q.get<Row<OutboundSubscription>>(
    `SELECT ${columns} FROM outbound_subscription WHERE ${ofKey}`,
    ...keyOf(key),
  )
  return row === undefined ? null : toOutbound(row)
}

/** Oldest first; of one peer unless `peerId` is null. */
export async function findOutboundOf(
  q: Queries,
  actorId: string,
  peerId: string | null = null,
): Promise<OutboundSubscription[]> {
  const rows = await q.all<Row<OutboundSubscription>>(
    `SELECT ${columns} FROM outbound_subscription WHERE actor_id = $1${peerId === null ? '' : ' AND peer_id = $2'}
     ORDER BY created_at, peer_id, subscription_id`,
    actorId,
    ...(peerId === null ? [] : [peerId]),
  )
  return rows.map(toOutbound)
}

/** What was applied, and what is still missing. */
export type Progress = Pick<OutboundSubscription, 'sequence' | 'gapDueAt' | 'resyncPending' | 'isUnknown' | 'attempts'>

export async function saveProgress(tx: Transaction, key: OutboundKey, progress: Progress): Promise<void> {
  await tx.run(
    `UPDATE outbound_subscription SET sequence = $4, gap_due_at = $5, resync_pending = $6, is_unknown = $7,
       attempts = $8, claimed_until = 0
     WHERE ${ofKey}`,
    ...keyOf(key),
    progress.sequence,
    progress.gapDueAt,
    Number(progress.resyncPending),
    Number(progress.isUnknown),
    progress.attempts,
  )
}

/** With its pending callbacks. False when there was none. */
export async function deleteOutbound(tx: Transaction, key: OutboundKey): Promise<boolean> {
  return (await tx.run(`DELETE FROM outbound_subscription WHERE ${ofKey}`, ...keyOf(key))) === 1
}

/** The number that waits is kept once; it is never replaced. */
export async function insertPending(
  tx: Transaction,
  key: OutboundKey,
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

/** The numbers that wait, ascending. */
export async function findPendingNumbers(q: Queries, key: OutboundKey): Promise<number[]> {
  const rows = await q.all<{ sequence: number }>(
    `SELECT sequence FROM pending_callback WHERE ${ofKey} ORDER BY sequence`,
    ...keyOf(key),
  )
  return rows.map(({ sequence }) => sequence)
}

/** Those from `from` to `to`, both included, ascending. */
export async function findPending(q: Queries, key: OutboundKey, from: number, to: number): Promise<Numbered[]> {
  return q.all<{ sequence: number; body: string }>(
    `SELECT sequence, body FROM pending_callback WHERE ${ofKey} AND sequence >= $4 AND sequence <= $5
     ORDER BY sequence`,
    ...keyOf(key),
    from,
    to,
  )
}

export async function deletePendingUpTo(tx: Transaction, key: OutboundKey, sequence: number): Promise<void> {
  await tx.run(`DELETE FROM pending_callback WHERE ${ofKey} AND sequence <= $4`, ...keyOf(key), sequence)
}

/** The peer had not produced numbers above `sequence` yet when it was asked, after these came: they never were its own. */
export async function deletePendingAbove(
  tx: Transaction,
  key: OutboundKey,
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
 * What waits for a missing number tells of nothing any more: some of it may have been withdrawn since it came, and the
 * whole tells the rest. False when nothing waits.
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

/** Every subscription to the peer that the peer knows fetches the whole as soon as may be. False when there is none. */
export async function markForFetch(tx: Transaction, of: OfPeer, now: number): Promise<boolean> {
  return (await mark(tx, of, now, 0)) > 0
}

/** As `markForFetch`, and those that the peer did not know are looked for again: what they wait for may have changed. */
export async function markAllForFetch(tx: Transaction, of: OfPeer, now: number): Promise<void> {
  await mark(tx, of, now, 1)
}

type OfPeer = Pick<OutboundKey, 'actorId' | 'peerId'>

async function mark(tx: Transaction, { actorId, peerId }: OfPeer, now: number, mostUnknown: 0 | 1): Promise<number> {
  return tx.run(
    `UPDATE outbound_subscription SET resync_pending = 1, gap_due_at = $3, attempts = 0
     WHERE actor_id = $1 AND peer_id = $2 AND is_unknown <= $4`,
    actorId,
    peerId,
    now,
    mostUnknown,
  )
}

/** The earliest and the latest time at which a gap is given up; null when there is none. */
export async function findGapsDue(q: Queries): Promise<{ readonly next: number; readonly last: number } | null> {
  const row = await q.get<{ next: number | null; last: number | null }>(
    `/* receiving */ SELECT (SELECT MIN(gap_due_at) FROM outbound_subscription WHERE gap_due_at IS NOT NULL) AS next,
       (SELECT MAX(gap_due_at) FROM outbound_subscription WHERE gap_due_at IS NOT NULL) AS last`,
  )
  const { next = null, last = null } = row ?? {}
  return next === null || last === null ? null : { next, last }
}

/** Gaps that are due after `beyond` become due now. */
export async function bringGapsForward(tx: Transaction, beyond: number, now: number): Promise<void> {
  await tx.run('/* receiving */ UPDATE outbound_subscription SET gap_due_at = $2 WHERE gap_due_at > $1', beyond, now)
}

/** Takes what is due until `until`: nobody else touches it before, and everybody may after. */
export async function claimGaps(
  tx: Transaction,
  { now, until, limit }: { readonly now: number; readonly until: number; readonly limit: number },
): Promise<OutboundKey[]> {
  return tx.all<OutboundKey>(
    `/* receiving */ UPDATE outbound_subscription SET gap_due_at = $2, claimed_until = $2
     WHERE (actor_id, peer_id, subscription_id) IN (
       SELECT actor_id, peer_id, subscription_id FROM outbound_subscription
       WHERE gap_due_at <= $1 ORDER BY gap_due_at LIMIT $3 /*postgres: FOR UPDATE SKIP LOCKED */)
     RETURNING actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId"`,
    now,
    until,
    limit,
  )
}
