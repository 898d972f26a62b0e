/** The SQL of missed deletions: what the copy of a peer may have, although it is shown it no longer, and no diff deletes. */
import type { JsonText } from '../json/json.ts'
import { naming, runByActor } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { SubscriptionOf } from './backlog-store.ts'

export interface MissedDeletion extends SubscriptionOf {
  /** In the form of a diff of the subscription. */
  readonly data: JsonText
  /** False: the rights of the peer decide whether it may learn the names. */
  readonly isShown: boolean
}

/** The deletion of one name. */
export interface NamedDeletion {
  readonly name: string
  readonly data: JsonText
}

/**
 * Condition: the diff of the actor deletes names, and the peer may not have it. A Python peer answers 204 to diffs behind one that
 * failed, and only queues them. The resync that repairs the copy empties that queue.
 *
 * @param isEnded Without the diffs that wait, which the peer gets before a resync that is written now.
 */
export function missedDiff(actor: string, isEnded = false): string {
  const waits = "OR (w.outcome = 'waiting' AND w.sequence > s.committed)"
  return `diff.actor_id = ${actor} AND diff.deletions <> '' AND EXISTS (
         SELECT 1 FROM delivery w JOIN publisher_subscription s ON s.actor_id = w.actor_id AND s.peer_id = w.peer_id
           AND s.subscription_id = w.subscription_id
         WHERE w.actor_id = ${actor} AND w.peer_id = diff.peer_id AND w.subscription_id = diff.subscription_id
           AND w.sequence = diff.sequence
           ${isEnded ? 'AND w.sequence <= s.committed ' : ''}AND (w.outcome IN ('failed', 'superseded') ${isEnded ? '' : waits}
             OR EXISTS (SELECT 1 FROM delivery f WHERE f.actor_id = ${actor} AND f.peer_id = w.peer_id
               AND f.subscription_id = w.subscription_id AND f.sequence < w.sequence AND f.outcome = 'failed')))`
}

/** Keeps the deletions of the diffs of a subscription that are about to be deleted or passed over, and that the peer may not have. */
export async function keepMissedDiffs(
  tx: Transaction,
  prefixes: readonly (SubscriptionOf & { readonly actorId: string; readonly upTo: number })[],
  isEnded = false,
): Promise<void> {
  const rows = prefixes.map(({ actorId, peerId, subscriptionId, upTo }) => [actorId, peerId, subscriptionId, upTo])
  await runByActor(tx, rows, (own, only) => {
    const named = naming(only, 'diff.actor_id', 2)
    return tx.run(
      `INSERT INTO missed_deletion (actor_id, peer_id, subscription_id, about, data, is_shown)
       SELECT diff.actor_id, diff.peer_id, diff.subscription_id, 'diff ' || diff.sequence, diff.deletions, 1
       FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, upto BIGINT) AS dropped
       JOIN diff ON diff.actor_id = dropped.actor AND diff.peer_id = dropped.peer
         AND diff.subscription_id = dropped.subscription AND diff.sequence <= dropped.upto
       WHERE ${missedDiff(only === null ? 'dropped.actor' : '$2', isEnded)}${named.sql} ON CONFLICT DO NOTHING`,
      JSON.stringify(own),
      ...named.params,
    )
  })
}

/** The diffs of one subscription with callbacks up to a number that the peer has not read alone: `$1` to `$4`. */
export const acknowledgedDiffs = `diff
     JOIN publisher_subscription s ON s.actor_id = diff.actor_id AND s.peer_id = diff.peer_id
       AND s.subscription_id = diff.subscription_id
     JOIN delivery w ON w.actor_id = diff.actor_id AND w.peer_id = diff.peer_id
       AND w.subscription_id = diff.subscription_id AND w.sequence = diff.sequence
     WHERE diff.actor_id = $1 AND diff.peer_id = $2 AND diff.subscription_id = $3 AND diff.sequence <= $4
       AND diff.cleared_at IS NULL AND s.granularity IN ('high', 'low')`

/** Condition: the diff deletes names. A deletion that was sent again counts only while its callback was not accepted. */
export const isUnappliedDeletion = `(diff.deletions <> '' AND (diff.kind <> 'erasure' OR w.outcome = 'failed'
         OR (w.outcome = 'waiting' AND w.sequence > s.committed)))`

/** Keeps the deletions that a peer acknowledges and may not have applied. */
export async function keepAcknowledged(
  tx: Transaction,
  { actorId, peerId, subscriptionId, upTo }: SubscriptionOf & { readonly actorId: string; readonly upTo: number },
): Promise<void> {
  await tx.run(
    `INSERT INTO missed_deletion (actor_id, peer_id, subscription_id, about, data, is_shown)
     SELECT diff.actor_id, diff.peer_id, diff.subscription_id, 'diff ' || diff.sequence, diff.deletions, 1
     FROM ${acknowledgedDiffs} AND ${isUnappliedDeletion} ON CONFLICT DO NOTHING`,
    actorId,
    peerId,
    subscriptionId,
    upTo,
  )
}

/** Like `keepMissedDiffs`, for all diffs of an actor. */
export async function keepAllMissedDiffs(tx: Transaction, actorId: string): Promise<void> {
  await tx.run(
    `INSERT INTO missed_deletion (actor_id, peer_id, subscription_id, about, data, is_shown)
     SELECT diff.actor_id, diff.peer_id, diff.subscription_id, 'diff ' || diff.sequence, diff.deletions, 1
     FROM diff WHERE ${missedDiff('$1')} ON CONFLICT DO NOTHING`,
    actorId,
  )
}

/** Adds deletions to one subscription, of names that its peer was shown. */
export async function insertMissed(
  tx: Transaction,
  actorId: string,
  { peerId, subscriptionId }: SubscriptionOf,
  deletions: readonly NamedDeletion[],
): Promise<void> {
  await tx.run(
    `INSERT INTO missed_deletion (actor_id, peer_id, subscription_id, about, data, is_shown)
     SELECT $1, $2, $3, 'name ' || made.name, made.data, 1 FROM rows($4, name TEXT, data TEXT) AS made WHERE true
     ON CONFLICT (actor_id, peer_id, subscription_id, about) DO UPDATE SET data = excluded.data, is_shown = 1`,
    actorId,
    peerId,
    subscriptionId,
    JSON.stringify(deletions.map(({ name, data }) => [name, data])),
  )
}

/** The deletion of one name, as the subscriptions to the whole target and those to the name get it. */
export interface ScopedDeletion {
  readonly name: string
  readonly ofTarget: JsonText
  readonly ofName: JsonText
  /** Whether subscriptions to a part of the named property get it too. */
  readonly hasParts: boolean
}

/** Adds the deletions to every subscription with callbacks. Whether its peer may learn the names is open. */
export async function insertMissedOfAll(
  tx: Transaction,
  actorId: string,
  deletions: readonly ScopedDeletion[],
): Promise<void> {
  await tx.run(
    `INSERT INTO missed_deletion (actor_id, peer_id, subscription_id, about, data, is_shown)
     SELECT s.actor_id, s.peer_id, s.subscription_id, 'name ' || made.name,
       CASE WHEN s.subtarget = '' THEN made.whole ELSE made.own END, 0
     FROM rows($2, name TEXT, whole TEXT, own TEXT, parts BIGINT) AS made
     JOIN publisher_subscription s ON s.subtarget = ''
       OR (s.subtarget = made.name AND (s.resource = '' OR made.parts = 1))
     WHERE s.actor_id = $1 AND s.target = 'properties' AND s.granularity IN ('high', 'low')
     ON CONFLICT DO NOTHING`,
    actorId,
    JSON.stringify(deletions.map(({ name, ofTarget, ofName, hasParts }) => [name, ofTarget, ofName, Number(hasParts)])),
  )
}

/** The missed deletions of a peer whose names only its rights may open to it. */
export function findOpen(
  q: Queries,
  actorId: string,
  peerId: string,
): Promise<(SubscriptionOf & { readonly about: string; readonly data: JsonText })[]> {
  return q.all(
    `SELECT peer_id AS "peerId", subscription_id AS "subscriptionId", about, data FROM missed_deletion
     WHERE actor_id = $1 AND peer_id = $2 AND is_shown = 0`,
    actorId,
    peerId,
  )
}

/** Stores that a peer was shown the names of these deletions. */
export async function markShown(
  tx: Transaction,
  actorId: string,
  deletions: readonly (SubscriptionOf & { readonly about: string })[],
): Promise<void> {
  await tx.run(
    `UPDATE missed_deletion SET is_shown = 1 WHERE actor_id = $1 AND (peer_id, subscription_id, about) IN (
       SELECT peer, subscription, about FROM rows($2, peer TEXT, subscription TEXT, about TEXT) AS shown)`,
    actorId,
    JSON.stringify(deletions.map(({ peerId, subscriptionId, about }) => [peerId, subscriptionId, about])),
  )
}

/** Deletes and returns the missed deletions of subscriptions, which the caller writes as diffs. */
export async function takeMissed(
  tx: Transaction,
  actorId: string,
  subscriptions: readonly SubscriptionOf[],
): Promise<MissedDeletion[]> {
  const rows = await tx.all<Omit<MissedDeletion, 'isShown'> & { readonly isShown: number }>(
    `DELETE FROM missed_deletion WHERE actor_id = $1 AND (peer_id, subscription_id) IN (
       SELECT peer, subscription FROM rows($2, peer TEXT, subscription TEXT) AS taken)
     RETURNING peer_id AS "peerId", subscription_id AS "subscriptionId", data, is_shown AS "isShown"`,
    actorId,
    JSON.stringify(subscriptions.map(({ peerId, subscriptionId }) => [peerId, subscriptionId])),
  )
  return rows.map((row) => ({ ...row, isShown: row.isShown !== 0 }))
}
