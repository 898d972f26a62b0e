/** The SQL of notices. */
import { isHere } from '../actor/actor-store.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import type { Sealed } from '../secret/sealed.ts'
import { byActor, changeByKey, naming } from '../store/by-key.ts'
import type { Queries, Row, Transaction } from '../store/store.ts'
import type { Notice, NoticeKind } from './notice.ts'

type NoticeQueue = Pick<Notice, 'actorId' | 'peerId'>

/** Kinds that are still sent after the relationship, or the actor, was deleted. */
const endings = `('trust_deleted', 'withdrawal')`

/** A notice as it is stored. */
export interface StoredNotice extends Notice {
  readonly id: string
  /** Id of the request that caused the notice. Empty: no request. */
  readonly requestId: string
}

/** Appends notices to the queues of their peers in the given order. Notices that must be first go to the front. */
export async function insertNotices(tx: Transaction, notices: readonly StoredNotice[], now: number): Promise<void> {
  const rows = notices.map((notice, index) => [
    notice.id,
    notice.actorId,
    notice.peerId,
    index + 1,
    notice.kind,
    notice.method,
    notice.url,
    notice.baseuri,
    notice.secret,
    notice.body ?? '',
    notice.dueAt ?? now,
    notice.requestId,
  ])
  await byActor(
    tx,
    rows,
    ([, sender]) => String(sender),
    async (own, only) => {
      const sender = only === null ? 'added.sender' : '$3'
      await tx.run(
        `INSERT INTO notice (id, sender, recipient, position, kind, method, url, baseuri, secret, body, due_at, request_id,
       created_at)
     SELECT added.id, added.sender, added.recipient,
       CASE WHEN added.kind = 'renewal' THEN COALESCE((SELECT MIN(n.position) FROM notice n
           WHERE n.sender = ${sender} AND n.recipient = added.recipient), 1) - 1
         ELSE added.place + COALESCE((SELECT MAX(n.position) FROM notice n
           WHERE n.sender = ${sender} AND n.recipient = added.recipient), 0) END,
       added.kind, added.method, added.url, added.baseuri, added.secret, added.body,
       added.due, added.request, CAST($2 AS BIGINT)
     FROM rows($1, id TEXT, sender TEXT, recipient TEXT, place BIGINT, kind TEXT, method TEXT, url TEXT, baseuri TEXT,
       secret TEXT, body TEXT, due BIGINT, request TEXT) AS added${only === null ? '' : ', actor WHERE actor.id = $3'}`,
        JSON.stringify(own),
        now,
        ...naming(only, '', 3).params,
      )
      return []
    },
  )
}

/** A notice under the lease of a worker. */
export interface ClaimedNotice {
  readonly id: string
  readonly actorId: string
  readonly peerId: string
  readonly kind: NoticeKind
  readonly method: Notice['method']
  readonly url: string
  readonly baseuri: string
  readonly secret: Sealed
  readonly body: string
  readonly attempts: number
  /** Id of the request that caused the notice. Empty: no request. */
  readonly requestId: string
  readonly createdAt: number
}

/**
 * Leases due notices that are the first of their queues until `until`. A withdrawal does not wait for others, and only an end
 * waits for an end, because they are about different secrets. The permissions of a peer wait until a diff has deleted from its copies what it may no longer read.
 *
 * @param claim `actorId` null: the notices of all actors besides those in `without`.
 */
export async function claimNotices(
  tx: Transaction,
  claim: {
    readonly now: number
    readonly until: number
    readonly limit: number
    readonly actorId: string | null
    readonly without: readonly string[]
  },
): Promise<ClaimedNotice[]> {
  const { now, until, limit, actorId, without } = claim
  const named = [naming(actorId, 'notice.sender', 5), naming(actorId, 'n.sender', 5)]
  const sender = actorId === null ? 'n.sender' : '$5'
  return tx.all<ClaimedNotice>(
    `/* delivery */ UPDATE notice SET due_at = $2, leased_until = $2 WHERE (sender, id) IN (
       SELECT n.sender, n.id FROM notice n
       WHERE n.due_at <= $1 AND n.sender NOT IN (SELECT actor FROM rows($4, actor TEXT) AS busy)
         AND (n.kind = 'withdrawal' OR NOT EXISTS (
           SELECT 1 FROM notice e WHERE e.sender = ${sender} AND e.recipient = n.recipient
             AND e.position < n.position AND e.due_at IS NOT NULL AND e.kind <> 'withdrawal'
             AND (e.kind <> 'trust_deleted' OR n.kind = 'trust_deleted')))
         AND (n.kind <> 'permission' OR NOT EXISTS (
           SELECT 1 FROM publisher_subscription s JOIN diff d ON d.actor_id = s.actor_id AND d.peer_id = s.peer_id
             AND d.subscription_id = s.subscription_id
           WHERE s.actor_id = ${sender} AND d.actor_id = ${sender} AND s.peer_id = n.recipient AND s.state = 'live'
             AND s.due_at IS NOT NULL AND d.kind = 'erasure' AND d.sequence > s.committed))
         ${named[1]?.sql}
       ORDER BY n.due_at LIMIT $3 FOR UPDATE SKIP LOCKED)${named[0]?.sql}
     RETURNING id, sender AS "actorId", recipient AS "peerId", kind, method, url, baseuri, secret, body, attempts,
       request_id AS "requestId", created_at AS "createdAt"`,
    now,
    until,
    limit,
    JSON.stringify(without.map((busy) => [busy])),
    ...(named[0]?.params ?? []),
  )
}

/** The current data of the relationship with a peer. */
export interface Recipient {
  readonly baseuri: string
  /** Sealed with the binding of the trust. */
  readonly secret: Sealed
  readonly approved: boolean
  readonly peerApproved: boolean
  readonly facts: TrustFacts
}

/** Null: the relationship does not exist. */
export async function findRecipient(q: Queries, { actorId, peerId }: NoticeQueue): Promise<Recipient | null> {
  const row = await q.get<Row<Omit<Recipient, 'facts'>> & { readonly facts: string }>(
    `/* delivery */ SELECT baseuri, secret, approved, peer_approved AS "peerApproved", facts FROM trust
     WHERE actor_id = $1 AND peer_id = $2`,
    actorId,
    peerId,
  )
  if (row === undefined) return null
  const { approved, peerApproved, facts } = row
  return {
    ...row,
    approved: approved !== 0,
    peerApproved: peerApproved !== 0,
    facts: JSON.parse(facts) as TrustFacts,
  }
}

/** Whether the sender lives at another service now. */
export async function hasSenderLeft(q: Queries, { actorId }: NoticeQueue): Promise<boolean> {
  const row = await q.get(
    `/* delivery */ SELECT actor_id FROM departure
     WHERE actor_id = $1 AND NOT EXISTS (SELECT 1 FROM actor WHERE id = $1)`,
    actorId,
  )
  return row !== undefined
}

/** Deletes the notices of an ended relationship, except those about its end. */
export async function deleteNoticesOf(tx: Transaction, actorId: string, peerId: string): Promise<void> {
  await tx.run(`DELETE FROM notice WHERE sender = $1 AND recipient = $2 AND kind NOT IN ${endings}`, actorId, peerId)
}

/** Like `deleteNoticesOf`, for all peers of the actors. */
export async function deleteNoticesOfActors(tx: Transaction, actorIds: readonly string[]): Promise<void> {
  await changeByKey(tx, actorIds, async (named, params) => {
    await tx.run(`DELETE FROM notice WHERE kind NOT IN ${endings} AND ${named('sender')}`, ...params)
    return []
  })
}

/** Why a notice waits whose sender moves between two services, or is suspended. Archives of moves name it too (`record-kinds.ts`). */
const heldReason = 'The sender moves'

/**
 * Keeps the waiting notices of an actor that is not at this service yet, or no longer, or is suspended. Those about ends are sent:
 * their secrets are not in archives, and the peers know this address.
 */
export async function holdNotices(tx: Transaction, actorId: string): Promise<void> {
  await tx.run(
    `UPDATE notice SET due_at = NULL, leased_until = 0, reason = $2
     WHERE sender = $1 AND due_at IS NOT NULL AND kind NOT IN ${endings}`,
    actorId,
    heldReason,
  )
}

/** Deletes the held notices of an actor that does not come, or whose archive comes again. */
export async function deleteHeldNotices(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('DELETE FROM notice WHERE sender = $1 AND due_at IS NULL AND reason = $2', actorId, heldReason)
}

/** Makes the held notices of the actor due. */
export async function releaseHeldNotices(tx: Transaction, actorId: string, now: number): Promise<void> {
  await tx.run(
    `UPDATE notice SET due_at = $2, reason = '' WHERE sender = $1 AND due_at IS NULL AND reason = $3`,
    actorId,
    now,
    heldReason,
  )
}

/** Whether the two actors agreed, or may have agreed, on another secret. After a move, the peer may have the new one already. */
export async function isSecretInDoubt(q: Queries, { actorId, peerId }: NoticeQueue, secret: Sealed): Promise<boolean> {
  const row = await q.get(
    `/* delivery */ SELECT 1 AS found FROM trust
     WHERE actor_id = $1 AND peer_id = $2 AND (secret <> $3 OR next_secret_hash IS NOT NULL OR EXISTS (
       SELECT 1 FROM arrival_peer m WHERE m.actor_id = $1 AND m.peer_id = $2 AND m.state IN ('waiting', 'failed')
         AND m.updated_at >= trust.created_at))`,
    actorId,
    peerId,
    secret,
  )
  return row !== undefined
}

/** The secret that the actor offers the peer since its move, and that the peer may have. Sealed with the binding of `arrival_peer`. */
export async function findOfferedSecret(q: Queries, { actorId, peerId }: NoticeQueue): Promise<Sealed | null> {
  const row = await q.get<{ secret: Sealed }>(
    `SELECT secret FROM arrival_peer WHERE actor_id = $1 AND peer_id = $2 AND state IN ('waiting', 'failed')`,
    actorId,
    peerId,
  )
  return row?.secret ?? null
}

/** The last waiting notice of a kind. Null: none. */
export async function findNotice(
  q: Queries,
  { actorId, peerId }: NoticeQueue,
  kind: NoticeKind,
): Promise<Pick<ClaimedNotice, 'id' | 'url' | 'baseuri' | 'secret'> | null> {
  const row = await q.get<Pick<ClaimedNotice, 'id' | 'url' | 'baseuri' | 'secret'>>(
    `SELECT id, url, baseuri, secret FROM notice
     WHERE sender = $1 AND recipient = $2 AND kind = $3 AND due_at IS NOT NULL ORDER BY position DESC LIMIT 1`,
    actorId,
    peerId,
    kind,
  )
  return row ?? null
}

/** The waiting notices about ends of relationships with a peer. */
export function findEndings(
  q: Queries,
  { actorId, peerId }: NoticeQueue,
): Promise<Pick<ClaimedNotice, 'id' | 'secret'>[]> {
  return q.all(
    `SELECT id, secret FROM notice
     WHERE sender = $1 AND recipient = $2 AND kind IN ${endings} AND due_at IS NOT NULL`,
    actorId,
    peerId,
  )
}

/** Makes waiting notices of a kind due now. */
export async function hurryNotices(
  tx: Transaction,
  { actorId, peerId }: NoticeQueue,
  kind: NoticeKind,
  now: number,
): Promise<void> {
  await tx.run(
    `UPDATE notice SET due_at = $4
     WHERE sender = $1 AND recipient = $2 AND kind = $3 AND due_at > $4 AND leased_until = 0`,
    actorId,
    peerId,
    kind,
    now,
  )
}

/** Deletes the notices of a kind to a peer, at any position in its queue. */
export async function deleteNotices(
  tx: Transaction,
  { actorId, peerId }: NoticeQueue,
  kind: NoticeKind,
): Promise<void> {
  await tx.run('DELETE FROM notice WHERE sender = $1 AND recipient = $2 AND kind = $3', actorId, peerId, kind)
}

/** Deletes a notice that was delivered or no longer applies. */
export async function deleteNotice(
  tx: Transaction,
  { actorId, id }: Pick<ClaimedNotice, 'actorId' | 'id'>,
): Promise<void> {
  await tx.run('/* delivery */ DELETE FROM notice WHERE sender = $1 AND id = $2', actorId, id)
}

/** Ends the lease of a notice that was not delivered. `dueAt` null: gives the notice up. */
export async function postponeNotice(
  tx: Transaction,
  { actorId, id }: Pick<ClaimedNotice, 'actorId' | 'id'>,
  {
    leasedUntil,
    dueAt,
    counts,
    reason,
  }: { leasedUntil: number; dueAt: number | null; counts: boolean; reason: string },
): Promise<void> {
  await tx.run(
    `/* delivery */ UPDATE notice SET due_at = $4, leased_until = 0, attempts = attempts + $5, reason = $6
     WHERE sender = $1 AND id = $2 AND leased_until = $3`,
    actorId,
    id,
    leasedUntil,
    dueAt,
    Number(counts),
    reason,
  )
}

/** Deletes given-up notices that were written before a time. Those of a suspended actor wait for its resumption. */
export async function deleteOldNotices(tx: Transaction, before: number): Promise<void> {
  await tx.run(
    '/* delivery */ DELETE FROM notice WHERE due_at IS NULL AND created_at < $1 AND reason <> $2',
    before,
    heldReason,
  )
}

/** Sends given-up notices again, and returns their number. A missing id means every actor that is here, or every peer. */
export async function redriveNotices(
  tx: Transaction,
  of: { readonly actorId?: string; readonly peerId?: string },
  now: number,
): Promise<number> {
  const given = Object.entries({ sender: of.actorId, recipient: of.peerId }).flatMap(([column, value]) =>
    value === undefined ? [] : [[column, value] as const],
  )
  const here = of.actorId === undefined ? isHere('notice.sender') : ''
  return tx.run(
    `/* delivery */ UPDATE notice SET due_at = $1, created_at = $1 WHERE due_at IS NULL${given
      .map(([column], index) => ` AND ${column} = $${index + 2}`)
      .join('')}${here}`,
    now,
    ...given.map(([, value]) => value),
  )
}
