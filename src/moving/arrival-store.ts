/** The SQL of moves from other services, and of the relationships of arrived actors. */
import { releaseHeldNotices } from '../outbox/notice-store.ts'
import type { SecretHash } from '../secret/hash.ts'
import { randomId } from '../secret/random.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import type { PeerState } from './peer-states.ts'

/**
 * `announced`: an address announces the move. `stored`: its archive is complete. `moved`: it has published the notice. `here`:
 * the actor is here. `refused`: it never comes by this announcement.
 */
export type ArrivalState = 'announced' | 'stored' | 'moved' | 'here' | 'refused'

export interface Arrival {
  readonly actorId: string
  /** The address at the old service. */
  readonly originUrl: string
  /** The public key of that address. */
  readonly originKey: string
  readonly state: ArrivalState
  readonly tokenHash: SecretHash
  /** Empty when the owner has taken the actor. */
  readonly claimHash: SecretHash | ''
  /** JSON Web Keys of this home of the actor. */
  readonly publicKey: string
  readonly privateKey: Sealed
  /** JSON array of the addresses from which the actor has come here. */
  readonly origins: string
  /** The archive in the storage for files; empty without one. */
  readonly object: string
  /** Why it was refused. */
  readonly reason: string
  /** Unix milliseconds. */
  readonly createdAt: number
  /** Time of the move, by the notice. */
  readonly movedAt: number | null
  /** Time of the arrival, later than that of the move. */
  readonly hereAt: number | null
}

const columns = `actor_id AS "actorId", origin_url AS "originUrl", origin_key AS "originKey", state, token_hash AS "tokenHash",
  claim_hash AS "claimHash", public_key AS "publicKey", private_key AS "privateKey", origins, object, reason,
  created_at AS "createdAt", moved_at AS "movedAt", here_at AS "hereAt"`

type Reads = Pick<Queries, 'get'>

/** The arrival of an actor that is here. Null: it was created here, or is not here. */
export async function findArrival(q: Reads, actorId: string): Promise<Arrival | null> {
  return (
    (await q.get<Arrival>(`SELECT ${columns} FROM arrival WHERE actor_id = $1 AND state = 'here'`, actorId)) ?? null
  )
}

/** The arrival of one announcement. */
export async function findAnnounced(q: Reads, actorId: string, tokenHash: SecretHash): Promise<Arrival | null> {
  const sql = `SELECT ${columns} FROM arrival WHERE actor_id = $1 AND token_hash = $2`
  return (await q.get<Arrival>(sql, actorId, tokenHash)) ?? null
}

export async function findFrom(q: Reads, actorId: string, originUrl: string): Promise<Arrival | null> {
  const sql = `SELECT ${columns} FROM arrival WHERE actor_id = $1 AND origin_url = $2`
  return (await q.get<Arrival>(sql, actorId, originUrl)) ?? null
}

/** The arrival whose owner's code this is. */
export async function findClaimed(q: Reads, actorId: string, claimHash: SecretHash): Promise<Arrival | null> {
  const sql = `SELECT ${columns} FROM arrival WHERE actor_id = $1 AND claim_hash = $2 AND state <> 'refused'`
  return (await q.get<Arrival>(sql, actorId, claimHash)) ?? null
}

/** The proven arrival that becomes the actor: the one whose notice was read first. */
export async function findFirstMoved(q: Reads, actorId: string): Promise<Arrival | null> {
  const sql = `SELECT ${columns} FROM arrival
    WHERE actor_id = $1 AND state = 'moved' AND object <> '' ORDER BY proved_at, origin_url LIMIT 1`
  return (await q.get<Arrival>(sql, actorId)) ?? null
}

/** All proven arrivals of an id. */
export function findMoved(q: Queries, actorId: string): Promise<Arrival[]> {
  return q.all<Arrival>(
    `SELECT ${columns} FROM arrival WHERE actor_id = $1 AND state = 'moved' ORDER BY proved_at LIMIT 1000`,
    actorId,
  )
}

/** Stores an announced arrival, in the place of an earlier one of the same address. Those of other addresses stay. */
export async function putArrival(
  tx: Transaction,
  arrival: Pick<
    Arrival,
    | 'actorId'
    | 'originUrl'
    | 'originKey'
    | 'tokenHash'
    | 'claimHash'
    | 'publicKey'
    | 'privateKey'
    | 'origins'
    | 'createdAt'
  >,
): Promise<void> {
  await deleteArrival(tx, arrival)
  await tx.run(
    `INSERT INTO arrival (actor_id, origin_url, origin_key, state, token_hash, claim_hash, public_key, private_key, origins,
       created_at)
     VALUES ($1, $2, $3, 'announced', $4, $5, $6, $7, $8, $9)`,
    arrival.actorId,
    arrival.originUrl,
    arrival.originKey,
    arrival.tokenHash,
    arrival.claimHash,
    arrival.publicKey,
    arrival.privateKey,
    arrival.origins,
    arrival.createdAt,
  )
}

type Announced = Pick<Arrival, 'actorId' | 'tokenHash'>

/** Gives the arrival its archive. False: it has one, or was announced again. */
export async function storeArchive(
  tx: Transaction,
  { actorId, tokenHash }: Announced,
  object: string,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE arrival SET object = $3, state = CASE state WHEN 'announced' THEN 'stored' ELSE state END
     WHERE actor_id = $1 AND token_hash = $2 AND state IN ('announced', 'moved') AND object = ''`,
    actorId,
    tokenHash,
    object,
  )
  return changed > 0
}

/** Takes the archive away again. The old service sends it a second time. */
export async function dropArchive(tx: Transaction, { actorId, tokenHash }: Announced): Promise<void> {
  await tx.run(
    `UPDATE arrival SET object = '', state = CASE state WHEN 'stored' THEN 'announced' ELSE state END
     WHERE actor_id = $1 AND token_hash = $2 AND state IN ('stored', 'moved')`,
    actorId,
    tokenHash,
  )
}

/** Stores that the old address has published the notice. */
export async function proveArrival(
  tx: Transaction,
  { actorId, tokenHash }: Announced,
  times: { readonly movedAt: number; readonly provedAt: number },
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE arrival SET state = 'moved', moved_at = $3, proved_at = $4
     WHERE actor_id = $1 AND token_hash = $2 AND state IN ('announced', 'stored')`,
    actorId,
    tokenHash,
    times.movedAt,
    times.provedAt,
  )
  return changed > 0
}

/** Stores that the actor is here by this arrival. False: it was announced again, or refused. */
export async function completeArrival(
  tx: Transaction,
  { actorId, tokenHash }: Announced,
  { hereAt, trusteeRoot }: { readonly hereAt: number; readonly trusteeRoot: string | null },
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE arrival SET state = 'here', object = '', here_at = $3, trustee_root = $4
     WHERE actor_id = $1 AND token_hash = $2 AND state = 'moved'`,
    actorId,
    tokenHash,
    hereAt,
    trusteeRoot,
  )
  return changed > 0
}

/** Refuses the arrival for ever, so that the old service may keep the actor. False: it is here. */
export async function refuseArrival(
  tx: Transaction,
  { actorId, tokenHash }: Announced,
  reason: string,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE arrival SET state = 'refused', object = '', reason = $3
     WHERE actor_id = $1 AND token_hash = $2 AND state <> 'here'`,
    actorId,
    tokenHash,
    reason,
  )
  return changed > 0
}

export async function deleteArrival(
  tx: Transaction,
  { actorId, originUrl }: Pick<Arrival, 'actorId' | 'originUrl'>,
): Promise<void> {
  await tx.run('DELETE FROM arrival WHERE actor_id = $1 AND origin_url = $2', actorId, originUrl)
}

/** Makes the owner's code unusable. False: it was used. */
export async function endClaim(tx: Transaction, actorId: string): Promise<boolean> {
  const ended = await tx.run(
    `UPDATE arrival SET claim_hash = '' WHERE actor_id = $1 AND claim_hash <> '' AND state = 'here'`,
    actorId,
  )
  return ended > 0
}

/** At most `most` arrivals that were announced before a time and are not here, after the given one. It asks every server. */
export function waitingArrivals(
  before: number,
  after: Pick<Arrival, 'createdAt' | 'actorId' | 'tokenHash'>,
  most: number,
): [sql: string, ...params: (number | string)[]] {
  return [
    `/* moves */ SELECT actor_id AS "actorId", token_hash AS "tokenHash", created_at AS "createdAt" FROM arrival
     WHERE state <> 'here' AND created_at < $1 AND (created_at, actor_id, token_hash) > ($2, $3, $4)
     ORDER BY created_at, actor_id, token_hash LIMIT $5`,
    before,
    after.createdAt,
    after.actorId,
    after.tokenHash,
    most,
  ]
}

/** Archives that wait for a notice, the last first, without the first `kept`. It asks every server. */
export function surplusArchives(kept: number): [sql: string, ...params: number[]] {
  return [
    `/* moves */ SELECT actor_id AS "actorId", token_hash AS "tokenHash" FROM arrival
     WHERE state = 'stored' ORDER BY created_at DESC, actor_id LIMIT 100 OFFSET $1`,
    kept,
  ]
}

/** The work of an arrival, as its worker has claimed it. */
export interface ArrivalJob {
  readonly dueAt: number | null
  readonly lease: string
  readonly attempts: number
  readonly entryId: string
}

export async function findArrivalJob(q: Reads, actorId: string): Promise<ArrivalJob | null> {
  const row = await q.get<ArrivalJob>(
    `SELECT due_at AS "dueAt", lease, attempts, entry_id AS "entryId" FROM job
     WHERE actor_id = $1 AND kind = 'arrival' AND id = ''`,
    actorId,
  )
  return row ?? null
}

export async function insertArrivalJob(tx: Transaction, actorId: string, job: ArrivalJob, now: number): Promise<void> {
  await tx.run(
    `INSERT INTO job (actor_id, kind, id, last, due_at, lease, attempts, entry_id, created_at)
     VALUES ($1, 'arrival', '', 1, $2, $3, $4, $5, $6)`,
    actorId,
    job.dueAt,
    job.lease,
    job.attempts,
    job.entryId,
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

/**
 * Begins the work of the actor: callbacks, fetches of missing data, alarms, events and messages of any kind. Work that a process
 * has begun meanwhile, after a change by the application, keeps its lease.
 */
export async function beginWork(tx: Transaction, actorId: string, now: number): Promise<void> {
  await tx.run(
    `UPDATE publisher_subscription SET due_at = CASE
       WHEN (state = 'live' AND sequence > committed) OR repair_at < $2 THEN $2 ELSE repair_at END
     WHERE actor_id = $1 AND granularity IN ('high', 'low') AND leased_until <= $2
       AND ((state = 'live' AND sequence > committed) OR repair_at IS NOT NULL)`,
    actorId,
    now,
  )
  await tx.run(
    `UPDATE subscriber_subscription SET gap_due_at = $2 WHERE actor_id = $1 AND leased_until <= $2
       AND (resync_pending = 1 OR EXISTS (
       SELECT 1 FROM pending_callback p WHERE p.actor_id = $1 AND p.peer_id = subscriber_subscription.peer_id
         AND p.subscription_id = subscriber_subscription.subscription_id))`,
    actorId,
    now,
  )
  await releaseHeldNotices(tx, actorId, now)
  await tx.run(
    `UPDATE job SET due_at = at WHERE actor_id = $1 AND kind = 'alarm' AND state = 'live' AND due_at IS NULL`,
    actorId,
  )
  await tx.run(
    `UPDATE job SET due_at = $2
     WHERE actor_id = $1 AND kind NOT IN ('alarm', 'import', 'move', 'arrival') AND state = 'live' AND due_at IS NULL AND last > done`,
    actorId,
    now,
  )
}

export interface ArrivalPeer {
  readonly actorId: string
  readonly peerId: string
  readonly baseuri: string
  readonly relationship: string
  readonly state: PeerState
  /** The new secret. Empty: the peer keeps its secret, because only the address of this service has changed. */
  readonly secret: Sealed
  readonly attempts: number
  readonly reason: string
  /** Unix milliseconds. */
  readonly updatedAt: number
}

const peerColumns = `actor_id AS "actorId", peer_id AS "peerId", baseuri, relationship, state, secret, attempts, reason,
  updated_at AS "updatedAt"`

/** Peers of one run. */
export async function findDuePeers(q: Queries, actorId: string, now: number, most: number): Promise<ArrivalPeer[]> {
  return q.all<ArrivalPeer>(
    `SELECT ${peerColumns} FROM arrival_peer
     WHERE actor_id = $1 AND state IN ('waiting', 'failed') AND due_at <= $2 ORDER BY due_at, peer_id LIMIT $3`,
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
     ORDER BY CASE state WHEN 'failed' THEN 0 WHEN 'waiting' THEN 1 WHEN 'asked' THEN 2 WHEN 'kept' THEN 3 ELSE 4 END, peer_id LIMIT $2`,
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
  const due = rows.flatMap((row) => row.due ?? [])
  return {
    counts: Object.fromEntries(rows.map(({ state, peers }) => [state, peers])),
    dueAt: due.length === 0 ? null : Math.min(...due),
  }
}

export async function updatePeer(
  tx: Transaction,
  peer: Pick<ArrivalPeer, 'actorId' | 'peerId' | 'state' | 'secret' | 'attempts' | 'reason' | 'updatedAt'>,
  dueAt: number | null,
): Promise<void> {
  await tx.run(
    `UPDATE arrival_peer SET state = $3, secret = $4, attempts = $5, reason = $6, updated_at = $7, due_at = $8
     WHERE actor_id = $1 AND peer_id = $2`,
    peer.actorId,
    peer.peerId,
    peer.state,
    peer.secret,
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

/** Stores an actor that is here by an address to which this service has changed. Its home stays the same. */
export async function putReaddressed(
  tx: Transaction,
  arrival: Pick<Arrival, 'actorId' | 'originUrl' | 'tokenHash' | 'publicKey' | 'privateKey' | 'origins'>,
  now: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO arrival (actor_id, origin_url, origin_key, state, token_hash, claim_hash, public_key, private_key, origins,
       created_at, here_at)
     VALUES ($1, $2, $3, 'here', $4, '', $3, $5, $6, $7, $7)`,
    arrival.actorId,
    arrival.originUrl,
    arrival.publicKey,
    arrival.tokenHash,
    arrival.privateKey,
    arrival.origins,
    now,
  )
}

/** Adds a former address to an actor that is here, with the time of the change. */
export async function addOrigin(
  tx: Transaction,
  { actorId, originUrl }: Pick<Arrival, 'actorId' | 'originUrl'>,
  { origins, hereAt }: { readonly origins: string; readonly hereAt: number },
): Promise<void> {
  await tx.run(
    'UPDATE arrival SET origins = $3, here_at = $4 WHERE actor_id = $1 AND origin_url = $2',
    actorId,
    originUrl,
    origins,
    hereAt,
  )
}

/** The peers of an actor that get no statement yet. Programs have no address. */
export function findUninformed(
  q: Queries,
  actorId: string,
): Promise<Pick<ArrivalPeer, 'peerId' | 'baseuri' | 'relationship'>[]> {
  return q.all(
    `SELECT peer_id AS "peerId", baseuri, relationship FROM trust t WHERE actor_id = $1 AND baseuri <> ''
       AND NOT EXISTS (SELECT 1 FROM arrival_peer m WHERE m.actor_id = $1 AND m.peer_id = t.peer_id)`,
    actorId,
  )
}

export async function insertPeers(
  tx: Transaction,
  actorId: string,
  peers: readonly Pick<ArrivalPeer, 'peerId' | 'baseuri' | 'relationship' | 'secret'>[],
  now: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO arrival_peer (actor_id, peer_id, baseuri, relationship, secret, due_at, updated_at)
     SELECT $1, r.peer, r.baseuri, r.relationship, r.secret, CAST($3 AS BIGINT), CAST($3 AS BIGINT)
     FROM rows($2, peer TEXT, baseuri TEXT, relationship TEXT, secret TEXT) AS r`,
    actorId,
    JSON.stringify(peers.map((peer) => [peer.peerId, peer.baseuri, peer.relationship, peer.secret])),
    now,
  )
}

/** Makes the peers of these states due. Returns their number. */
export function renewPeers(
  tx: Transaction,
  actorId: string,
  states: readonly PeerState[],
  now: number,
): Promise<number> {
  return tx.run(
    `UPDATE arrival_peer SET state = 'waiting', attempts = 0, reason = '', due_at = $3, updated_at = $3
     WHERE actor_id = $1 AND state IN (SELECT r.state FROM rows($2, state TEXT) AS r)
       AND EXISTS (SELECT 1 FROM trust t WHERE t.actor_id = $1 AND t.peer_id = arrival_peer.peer_id)`,
    actorId,
    JSON.stringify(states.map((state) => [state])),
    now,
  )
}

/** Actors with peers, after the given one, by id. It asks every server. */
export function actorsWithPeers(q: Queries, after: string, most: number): Promise<{ actorId: string }[]> {
  return q.all(
    `/* address */ SELECT DISTINCT actor_id AS "actorId" FROM trust
     WHERE baseuri <> '' AND actor_id > $1 ORDER BY actor_id LIMIT $2`,
    after,
    most,
  )
}

/** The number of peers of all actors, by state. It asks every server. */
export async function countAllPeers(
  store: Pick<Store, 'readAllServers'>,
): Promise<Readonly<Partial<Record<PeerState, number>>>> {
  const rows = await store.readAllServers<{ state: PeerState; peers: number }>(
    '/* address */ SELECT state, COUNT(*) AS peers FROM arrival_peer GROUP BY state',
  )
  const counts: Partial<Record<PeerState, number>> = {}
  for (const { state, peers } of rows) counts[state] = (counts[state] ?? 0) + peers
  return counts
}

/** Makes the failed peers, and those that wait for a later attempt, due now. Returns their number. */
export function retryPeers(tx: Transaction, actorId: string, now: number): Promise<number> {
  return tx.run(
    `UPDATE arrival_peer SET state = 'waiting', attempts = 0, reason = '', due_at = $2, updated_at = $2
     WHERE actor_id = $1 AND (state = 'failed' OR (state = 'waiting' AND due_at > $2))`,
    actorId,
    now,
  )
}
