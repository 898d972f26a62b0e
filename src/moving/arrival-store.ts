/** The SQL of moves from other services, and of the relationships of arrived actors. */
import { releaseHeldNotices } from '../outbox/notice-store.ts'
import type { SecretHash } from '../secret/hash.ts'
import { randomId } from '../secret/random.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Transaction } from '../store/store.ts'

/** `announced`: the archive has not arrived completely. `arrived`: it has, and the old service still has the actor. */
export type ArrivalState = 'announced' | 'arrived' | 'here'

export interface Arrival {
  readonly actorId: string
  /** The address at the old service. */
  readonly originUrl: string
  readonly state: ArrivalState
  readonly tokenHash: SecretHash
  /** Empty when the owner has taken the actor. */
  readonly claimHash: SecretHash | ''
  /** A JSON Web Key. */
  readonly publicKey: string
  readonly privateKey: Sealed
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly hereAt: number | null
}

const columns = `actor_id AS "actorId", origin_url AS "originUrl", state, token_hash AS "tokenHash", claim_hash AS "claimHash",
  public_key AS "publicKey", private_key AS "privateKey", created_at AS "createdAt", here_at AS "hereAt"`

export async function findArrival(q: Pick<Queries, 'get'>, actorId: string): Promise<Arrival | null> {
  return (await q.get<Arrival>(`SELECT ${columns} FROM arrival WHERE actor_id = $1`, actorId)) ?? null
}

/** Stores an announced arrival, in the place of an earlier one. */
export async function putArrival(tx: Transaction, arrival: Omit<Arrival, 'state' | 'hereAt'>): Promise<void> {
  await deleteArrival(tx, arrival.actorId)
  await tx.run(
    `INSERT INTO arrival (actor_id, origin_url, state, token_hash, claim_hash, public_key, private_key, created_at)
     VALUES ($1, $2, 'announced', $3, $4, $5, $6, $7)`,
    arrival.actorId,
    arrival.originUrl,
    arrival.tokenHash,
    arrival.claimHash,
    arrival.publicKey,
    arrival.privateKey,
    arrival.createdAt,
  )
}

/** Changes the state. False: the arrival is not in the state `from`, or was announced again. */
export async function moveArrival(
  tx: Transaction,
  { actorId, tokenHash }: Pick<Arrival, 'actorId' | 'tokenHash'>,
  { from, to, hereAt }: { readonly from: ArrivalState; readonly to: ArrivalState; readonly hereAt: number | null },
): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE arrival SET state = $4, here_at = $5 WHERE actor_id = $1 AND token_hash = $2 AND state = $3',
    actorId,
    tokenHash,
    from,
    to,
    hereAt,
  )
  return changed > 0
}

export async function deleteArrival(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('DELETE FROM arrival WHERE actor_id = $1', actorId)
}

/** Makes the owner's code unusable. False: it was used. */
export async function endClaim(tx: Transaction, actorId: string): Promise<boolean> {
  const ended = await tx.run(
    `UPDATE arrival SET claim_hash = '' WHERE actor_id = $1 AND claim_hash <> '' AND state = 'here'`,
    actorId,
  )
  return ended > 0
}

/** At most `most` actors whose archive has not come since `before`. It asks every server. */
export function staleArrivals(before: number, most: number): [sql: string, ...params: number[]] {
  return [
    `/* moves */ SELECT actor_id AS "actorId" FROM arrival WHERE state = 'announced' AND created_at < $1
     ORDER BY created_at LIMIT $2`,
    before,
    most,
  ]
}

/** Stores the work of an arrival. */
export async function insertArrivalJob(tx: Transaction, actorId: string, dueAt: number, now: number): Promise<void> {
  await tx.run(
    `INSERT INTO job (actor_id, kind, id, last, due_at, created_at) VALUES ($1, 'arrival', '', 1, $2, $3)`,
    actorId,
    dueAt,
    now,
  )
}

/** Makes the work of an arrival due now, also after it ended. */
export async function hurryArrivalJob(tx: Transaction, actorId: string, now: number): Promise<void> {
  await tx.run(
    `UPDATE job SET due_at = $2, done = 0, attempts = 0, lease = '', entry_id = $3
     WHERE actor_id = $1 AND kind = 'arrival'`,
    actorId,
    now,
    // A run that has begun does not count for this.
    randomId(),
  )
}

/** Begins the work of the actor: callbacks, fetches of missing data, alarms, events and messages of any kind. */
export async function beginWork(tx: Transaction, actorId: string, now: number): Promise<void> {
  await tx.run(
    `UPDATE publisher_subscription SET due_at = $2
     WHERE actor_id = $1 AND state = 'live' AND sequence > committed AND granularity IN ('high', 'low')`,
    actorId,
    now,
  )
  await tx.run(
    `UPDATE subscriber_subscription SET gap_due_at = $2 WHERE actor_id = $1 AND (resync_pending = 1 OR EXISTS (
       SELECT 1 FROM pending_callback p WHERE p.actor_id = $1 AND p.peer_id = subscriber_subscription.peer_id
         AND p.subscription_id = subscriber_subscription.subscription_id))`,
    actorId,
    now,
  )
  await releaseHeldNotices(tx, actorId, now)
  await tx.run(`UPDATE job SET due_at = at WHERE actor_id = $1 AND kind = 'alarm' AND due_at IS NULL`, actorId)
  await tx.run(
    `UPDATE job SET due_at = $2
     WHERE actor_id = $1 AND kind IN ('event', 'webhook') AND state = 'live' AND due_at IS NULL AND last > done`,
    actorId,
    now,
  )
}

/** `informed`: the peer has the new address. `asked`: it got a new request. */
export type PeerState = 'waiting' | 'informed' | 'asked' | 'failed'

export interface ArrivalPeer {
  readonly actorId: string
  readonly peerId: string
  readonly baseuri: string
  readonly relationship: string
  readonly state: PeerState
  /** The new secret. */
  readonly secret: Sealed
  /** JSON of `KeptSettings`; empty before the old relationship was ended. */
  readonly kept: string
  readonly attempts: number
  readonly reason: string
  /** Unix milliseconds. */
  readonly updatedAt: number
}

const peerColumns = `actor_id AS "actorId", peer_id AS "peerId", baseuri, relationship, state, secret, kept, attempts, reason,
  updated_at AS "updatedAt"`

/** Peers of one run. */
export async function findDuePeers(q: Queries, actorId: string, now: number, most: number): Promise<ArrivalPeer[]> {
  return q.all<ArrivalPeer>(
    `SELECT ${peerColumns} FROM arrival_peer
     WHERE actor_id = $1 AND state = 'waiting' AND due_at <= $2 ORDER BY due_at, peer_id LIMIT $3`,
    actorId,
    now,
    most,
  )
}

export async function findArrivalPeer(q: Queries, actorId: string, peerId: string): Promise<ArrivalPeer | null> {
  const row = await q.get<ArrivalPeer>(
    `SELECT ${peerColumns} FROM arrival_peer WHERE actor_id = $1 AND peer_id = $2`,
    actorId,
    peerId,
  )
  return row ?? null
}

/** The peers, those that need a look first. */
export function findArrivalPeers(q: Queries, actorId: string, most: number): Promise<ArrivalPeer[]> {
  return q.all<ArrivalPeer>(
    `SELECT ${peerColumns} FROM arrival_peer WHERE actor_id = $1
     ORDER BY CASE state WHEN 'failed' THEN 0 WHEN 'waiting' THEN 1 WHEN 'asked' THEN 2 ELSE 3 END, peer_id LIMIT $2`,
    actorId,
    most,
  )
}

/** The number of peers by state, and when the next attempt is due. */
export async function countPeers(
  q: Queries,
  actorId: string,
): Promise<{ readonly counts: Readonly<Partial<Record<PeerState, number>>>; readonly dueAt: number | null }> {
  const rows = await q.all<{ state: PeerState; peers: number; due: number | null }>(
    `SELECT state, COUNT(*) AS peers, MIN(due_at) AS due FROM arrival_peer WHERE actor_id = $1 GROUP BY state`,
    actorId,
  )
  return {
    counts: Object.fromEntries(rows.map(({ state, peers }) => [state, peers])),
    dueAt: rows.find(({ state }) => state === 'waiting')?.due ?? null,
  }
}

export async function updatePeer(
  tx: Transaction,
  peer: Pick<ArrivalPeer, 'actorId' | 'peerId' | 'state' | 'secret' | 'kept' | 'attempts' | 'reason' | 'updatedAt'>,
  dueAt: number | null,
): Promise<void> {
  await tx.run(
    `UPDATE arrival_peer SET state = $3, secret = $4, kept = $5, attempts = $6, reason = $7, updated_at = $8, due_at = $9
     WHERE actor_id = $1 AND peer_id = $2`,
    peer.actorId,
    peer.peerId,
    peer.state,
    peer.secret,
    peer.kept,
    peer.attempts,
    peer.reason,
    peer.updatedAt,
    dueAt,
  )
}

/** Replaces the secret that the actor offers a peer. */
export async function setOfferedSecret(
  tx: Transaction,
  { actorId, peerId }: Pick<ArrivalPeer, 'actorId' | 'peerId'>,
  secret: Sealed,
): Promise<void> {
  await tx.run('UPDATE arrival_peer SET secret = $3 WHERE actor_id = $1 AND peer_id = $2', actorId, peerId, secret)
}

/** Tries a peer again that has just been reached. */
export async function retryPeer(
  tx: Transaction,
  { actorId, peerId }: Pick<ArrivalPeer, 'actorId' | 'peerId'>,
  now: number,
): Promise<void> {
  await tx.run(
    `UPDATE arrival_peer SET state = 'waiting', attempts = 0, due_at = $3
     WHERE actor_id = $1 AND peer_id = $2 AND state IN ('waiting', 'failed')`,
    actorId,
    peerId,
    now,
  )
  await hurryArrivalJob(tx, actorId, now)
}

/** Tries the failed peers again. Returns their number. */
export function retryFailedPeers(tx: Transaction, actorId: string, now: number): Promise<number> {
  return tx.run(
    `UPDATE arrival_peer SET state = 'waiting', attempts = 0, reason = '', due_at = $2, updated_at = $2
     WHERE actor_id = $1 AND state = 'failed'`,
    actorId,
    now,
  )
}
