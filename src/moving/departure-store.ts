/** The SQL of moves to other services. */
import { singleRuns } from '../job/job-store.ts'
import { randomId } from '../secret/random.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Transaction } from '../store/store.ts'

/** `asking`: the new service has not agreed yet. `moving`: the actor is frozen. `failed`: given up. `moved`: the actor left. */
export type DepartureState = 'asking' | 'moving' | 'failed' | 'moved'

export interface Departure {
  readonly actorId: string
  /** The address at the new service. */
  readonly url: string
  readonly state: DepartureState
  /** JSON Web Keys: of this home, and of the new one. The second is empty until the new service has agreed. */
  readonly publicKey: string
  readonly newKey: string
  /** JSON array of the addresses from which the actor had come here. */
  readonly origins: string
  /** Empty before the move. */
  readonly notice: string
  readonly secrets: Sealed
  /** Why the last attempt failed. */
  readonly reason: string
  /** Unix milliseconds. */
  readonly begunAt: number
  readonly movedAt: number | null
  /** End of the redirect. */
  readonly endsAt: number | null
}

const columns = `actor_id AS "actorId", url, state, public_key AS "publicKey", new_key AS "newKey", origins, notice, secrets, reason, begun_at AS "begunAt",
  moved_at AS "movedAt", ends_at AS "endsAt"`

export async function findDeparture(q: Pick<Queries, 'get'>, actorId: string): Promise<Departure | null> {
  return (await q.get<Departure>(`SELECT ${columns} FROM departure WHERE actor_id = $1`, actorId)) ?? null
}

/** Stores a new move in the place of an earlier one. */
export async function putDeparture(
  tx: Transaction,
  {
    actorId,
    url,
    publicKey,
    origins,
    secrets,
    begunAt,
  }: Pick<Departure, 'actorId' | 'url' | 'publicKey' | 'origins' | 'secrets' | 'begunAt'>,
): Promise<void> {
  await deleteDeparture(tx, actorId)
  await tx.run(
    `INSERT INTO departure (actor_id, url, state, public_key, origins, secrets, begun_at)
     VALUES ($1, $2, 'asking', $3, $4, $5, $6)`,
    actorId,
    url,
    publicKey,
    origins,
    secrets,
    begunAt,
  )
}

/** Whether the actor leaves or has left. */
export async function updateDeparture(tx: Transaction, departure: Departure): Promise<void> {
  await tx.run(
    `UPDATE departure SET state = $2, notice = $3, secrets = $4, reason = $5, moved_at = $6, ends_at = $7, new_key = $8
     WHERE actor_id = $1`,
    departure.actorId,
    departure.state,
    departure.notice,
    departure.secrets,
    departure.reason,
    departure.movedAt,
    departure.endsAt,
    departure.newKey,
  )
}

export async function deleteDeparture(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('DELETE FROM departure WHERE actor_id = $1', actorId)
}

/**
 * Deletes moves in either direction of actors that are not here. A departure that succeeded stays: the id comes back only along it. So
 * does the arrival of an actor that was deleted: peers that missed its end learn of it from the key.
 */
export async function deleteOldMoves(tx: Transaction): Promise<void> {
  await tx.run(
    `/* moves */ DELETE FROM departure WHERE state <> 'moved'
       AND NOT EXISTS (SELECT 1 FROM actor a WHERE a.id = departure.actor_id)`,
  )
  await tx.run(
    `/* moves */ DELETE FROM arrival WHERE state = 'here'
       AND NOT EXISTS (SELECT 1 FROM actor a WHERE a.id = arrival.actor_id)
       AND NOT EXISTS (SELECT 1 FROM deleted_actor d WHERE d.id = arrival.actor_id)
       AND NOT EXISTS (SELECT 1 FROM former_actor f WHERE f.actor_id = arrival.actor_id)`,
  )
}

/** Stores the work of a move, which is due now. */
export async function insertMoveJob(tx: Transaction, actorId: string, now: number): Promise<void> {
  await tx.run(
    `INSERT INTO job (actor_id, kind, id, last, due_at, created_at, entry_id) VALUES ($1, 'move', '', 1, $2, $2, $3)
     ON CONFLICT (actor_id, kind, id) DO UPDATE SET done = 0, due_at = excluded.due_at, lease = '', state = 'live',
       attempts = 0, failing_since = NULL, reason = '', created_at = excluded.created_at, entry_id = excluded.entry_id`,
    actorId,
    now,
    randomId(),
  )
}

export async function deleteMoveJob(tx: Transaction, actorId: string): Promise<void> {
  await tx.run(`DELETE FROM job WHERE actor_id = $1 AND kind = 'move'`, actorId)
}

/** Whether this claim still has the work. */
export async function hasMoveLease(tx: Transaction, actorId: string, lease: string): Promise<boolean> {
  const row = await tx.get(
    `SELECT lease FROM job WHERE actor_id = $1 AND kind = 'move' AND id = '' AND lease = $2`,
    actorId,
    lease,
  )
  return row !== undefined
}

/**
 * Begins no callbacks, alarms, events and messages any longer, so that the archive has their last state. Returns false while
 * some run that began before.
 */
export async function pauseWork(tx: Transaction, actorId: string, now: number): Promise<boolean> {
  await tx.run(
    'UPDATE publisher_subscription SET due_at = NULL WHERE actor_id = $1 AND leased_until <= $2',
    actorId,
    now,
  )
  await tx.run(
    `UPDATE job SET due_at = NULL, lease = '' WHERE actor_id = $1 AND kind NOT IN ${singleRuns} AND (lease = '' OR due_at <= $2)`,
    actorId,
    now,
  )
  const running = await tx.get(
    `SELECT 1 AS found FROM publisher_subscription WHERE actor_id = $1 AND leased_until > $2
     UNION ALL SELECT 1 FROM job WHERE actor_id = $1 AND kind NOT IN ${singleRuns} AND lease <> '' AND due_at > $2 LIMIT 1`,
    actorId,
    now,
  )
  return running === undefined
}

/** Begins no further work of an actor that has moved, besides the move itself. The work begins again if the new service refuses it. */
export async function endWork(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('UPDATE publisher_subscription SET due_at = NULL WHERE actor_id = $1', actorId)
  await tx.run('UPDATE subscriber_subscription SET gap_due_at = NULL WHERE actor_id = $1', actorId)
  await tx.run(`UPDATE job SET due_at = NULL, lease = '' WHERE actor_id = $1 AND kind <> 'move'`, actorId)
}
