/** The SQL of actors. */
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { Actor } from './actor.ts'

const columns =
  'id, creator, passphrase, trustee_root AS "trusteeRoot", created_at AS "createdAt", guarded_until AS "guardedUntil"'

export async function findActor(q: Queries, id: string): Promise<Actor | null> {
  const row = await q.get<Actor>(`SELECT ${columns} FROM actor WHERE id = $1`, id)
  return row ?? null
}

/** Finds the actor of the verified creator, or else the oldest one, because anyone may create an actor under any name. */
export async function findActorByCreator(q: Queries, creator: string): Promise<Actor | null> {
  const row = await q.get<Actor>(
    `SELECT ${columns} FROM actor WHERE creator = $1
     ORDER BY CASE WHEN id = (SELECT actor_id FROM account WHERE identifier = $1 AND verified = 1) THEN 0 ELSE 1 END,
       created_at, id LIMIT 1`,
    creator,
  )
  return row ?? null
}

export async function findActorByProperty(q: Queries, name: string, value: string): Promise<Actor | null> {
  const row = await q.get<Actor>(
    `SELECT ${columns} FROM actor WHERE id = (SELECT actor_id FROM property_lookup WHERE name = $1 AND value = $2)`,
    name,
    value,
  )
  return row ?? null
}

/** Returns false when the id is taken. */
export async function insertActor(tx: Transaction, actor: Actor): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO actor (id, creator, passphrase, trustee_root, created_at, guarded_until) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (id) DO NOTHING`,
    actor.id,
    actor.creator,
    actor.passphrase,
    actor.trusteeRoot,
    actor.createdAt,
    actor.guardedUntil,
  )
  return inserted === 1
}

/** Returns false when another actor has the creator. On PostgreSQL this waits for a concurrent creation to end. */
export async function claimCreator(tx: Transaction, creator: string, actorId: string): Promise<boolean> {
  await tx.run('DELETE FROM unique_creator WHERE actor_id = $1', actorId)
  const claimed = await tx.run(
    'INSERT INTO unique_creator (creator, actor_id) VALUES ($1, $2) ON CONFLICT (creator) DO NOTHING',
    creator,
    actorId,
  )
  return claimed === 1
}

export async function setCreator(tx: Transaction, actorId: string, creator: string): Promise<void> {
  await tx.run('UPDATE actor SET creator = $2 WHERE id = $1', actorId, creator)
}

export async function setPassphrase(tx: Transaction, actorId: string, passphrase: Sealed): Promise<void> {
  await tx.run('UPDATE actor SET passphrase = $2 WHERE id = $1', actorId, passphrase)
}

/** Whether a user signs in to the actor with an identity that is linked to it. */
export async function hasAccount(q: Queries, id: string): Promise<boolean> {
  return (await q.get('SELECT actor_id FROM account WHERE actor_id = $1', id)) !== undefined
}

export async function setTrusteeRoot(tx: Transaction, actorId: string, trusteeRoot: string | null): Promise<void> {
  await tx.run('UPDATE actor SET trustee_root = $2 WHERE id = $1', actorId, trusteeRoot)
}

/** Locks the actor until the transaction ends, so that nothing is added to an actor that is about to be deleted. */
export async function lockActor(tx: Transaction, id: string): Promise<string[]> {
  const rows = await tx.all<{ id: string }>('SELECT id FROM actor WHERE id = $1 FOR UPDATE', id)
  return rows.map((row) => row.id)
}

/** Whether a user is signed in to the actor. */
export async function hasSession(q: Queries, id: string): Promise<boolean> {
  return (await q.get('SELECT actor_id FROM token_chain WHERE actor_id = $1 LIMIT 1', id)) !== undefined
}

/**
 * Serializes replacements of one creator's actors before they lock any row. Each one sees the result of the one before,
 * and no two wait for rows in different orders.
 */
export async function lockCreator(tx: Transaction, creator: string): Promise<void> {
  await tx.get('SELECT TRANSACTION_LOCK($1) AS locked', creator)
}

export async function lockActorsOf(tx: Transaction, creator: string): Promise<string[]> {
  const rows = await tx.all<{ id: string }>('SELECT id FROM actor WHERE creator = $1 ORDER BY id FOR UPDATE', creator)
  return rows.map((row) => row.id)
}

/** Deletes the actor's row, and by foreign keys and a trigger everything else of it. Rows of long lists are deleted later. */
export async function deleteActor(tx: Transaction, id: string, now: number): Promise<boolean> {
  const deleted = await tx.run('DELETE FROM actor WHERE id = $1', id)
  if (deleted === 0) return false
  await tx.run(
    'INSERT INTO deleted_actor (id, deleted_at) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET deleted_at = excluded.deleted_at',
    id,
    now,
  )
  return true
}

export async function deleteActorsOf(tx: Transaction, creator: string, now: number): Promise<void> {
  await tx.run(
    `INSERT INTO deleted_actor (id, deleted_at) SELECT id, CAST($2 AS BIGINT) FROM actor WHERE creator = $1
     ON CONFLICT (id) DO UPDATE SET deleted_at = excluded.deleted_at`,
    creator,
    now,
  )
  await tx.run('DELETE FROM actor WHERE creator = $1', creator)
  // A claim is stale when its actor has another creator now.
  await tx.run(
    `DELETE FROM unique_creator WHERE creator = $1
     AND NOT EXISTS (SELECT 1 FROM actor WHERE actor.id = unique_creator.actor_id AND actor.creator = $1)`,
    creator,
  )
}

export async function clearDeletionMarker(tx: Transaction, id: string): Promise<void> {
  await tx.run('DELETE FROM deleted_actor WHERE id = $1', id)
}

export async function purgeDeletionMarkers(tx: Transaction, before: number): Promise<void> {
  await tx.run('DELETE FROM deleted_actor WHERE deleted_at < $1', before)
}

export async function hasDeletionMarker(q: Queries, id: string, since: number): Promise<boolean> {
  const row = await q.get('SELECT id FROM deleted_actor WHERE id = $1 AND deleted_at >= $2', id, since)
  return row !== undefined
}
