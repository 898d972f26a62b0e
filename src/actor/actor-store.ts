/** The SQL of actors. */
import { personKind } from '../app/kinds/person.ts'
import type { Sealed } from '../secret/sealed.ts'
import { deleteWhereMany, type ManyRows } from '../store/delete-in-parts.ts'
import type { LockedActor, Queries, Residence, Transaction } from '../store/store.ts'
import type { Table, WithTables } from '../table/table.ts'
import type { Actor } from './actor.ts'
import {
  deleteCreator,
  findIdByCreator,
  findIdByProvenCreator,
  findIdsByCreator,
  insertCreator,
  insertCreators,
  lockCreator,
} from './creator-store.ts'
import { deleteRemoteRows } from './remote-rows.ts'

const columns =
  'id, creator, passphrase, trustee_root AS "trusteeRoot", created_at AS "createdAt", guarded_until AS "guardedUntil", residence, kind'

const byId = `SELECT ${columns} FROM actor WHERE id = $1`

/** An actor as it is stored. */
export interface StoredActor extends Actor {
  readonly residence: Residence
}

export function findActor(q: Queries, id: string): Promise<StoredActor | null> {
  return q.get<StoredActor>(byId, id).then(orNull)
}

/** The kind of an actor. An actor that was deleted counts as one of the person. */
export async function findActorKind(q: Queries, id: string): Promise<string> {
  const row = await q.get<{ kind: string }>('SELECT kind FROM actor WHERE id = $1', id)
  return row?.kind ?? personKind
}

function orNull(row: StoredActor | undefined): StoredActor | null {
  return row ?? null
}

/** Finds the actor of the verified creator, or else the oldest one. */
export async function findActorByCreator(q: Queries, creator: string): Promise<StoredActor | null> {
  const id = await findIdByCreator(q, creator)
  return id === null ? null : findActor(q, id)
}

/** The place of an actor in the order of all actors: by creation, then by id. */
export interface ActorPlace {
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly id: string
}

export interface ListedActor extends ActorPlace {
  readonly creator: string
  readonly kind: string
}

/** An actor with where it lives. */
export type PlacedActor = ListedActor & Pick<StoredActor, 'residence'>

/** Reads up to `most` actors after a place that were created at `until` or before, oldest first. It asks every server. */
export function findActorsAfter(q: Queries, after: ActorPlace, until: number, most: number): Promise<PlacedActor[]> {
  return q.all<PlacedActor>(
    `SELECT id, creator, created_at AS "createdAt", kind, residence FROM actor
     WHERE (created_at, id) > (CAST($1 AS BIGINT), $2) AND created_at <= $3 ORDER BY created_at, id LIMIT $4`,
    after.createdAt,
    after.id,
    until,
    most,
  )
}

export async function findActorByProvenCreator(q: Queries, creator: string): Promise<StoredActor | null> {
  const id = await findIdByProvenCreator(q, creator)
  return id === null ? null : findActor(q, id)
}

export async function findActorByProperty(q: Queries, name: string, value: string): Promise<StoredActor | null> {
  const row = await q.get<{ id: string }>(
    'SELECT actor_id AS id FROM property_lookup WHERE name = $1 AND value = $2',
    name,
    value,
  )
  return row === undefined ? null : findActor(q, row.id)
}

/** Returns false when the id is taken. The transaction must then roll back. */
export async function insertActor(tx: Transaction, actor: Actor): Promise<boolean> {
  // Sent together.
  const [inserted] = await Promise.all([
    tx.run(
      `INSERT INTO actor (id, creator, passphrase, trustee_root, created_at, guarded_until, kind) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (id) DO NOTHING`,
      actor.id,
      actor.creator,
      actor.passphrase,
      actor.trusteeRoot,
      actor.createdAt,
      actor.guardedUntil,
      actor.kind,
    ),
    insertCreator(tx, { creator: actor.creator, actorId: actor.id, createdAt: actor.createdAt }),
  ])
  return inserted === 1
}

/** Returns false when an id is taken. The transaction must then roll back. */
export async function insertActors(tx: Transaction, actors: readonly Actor[]): Promise<boolean> {
  const rows = actors.map((actor) => [
    actor.id,
    actor.creator,
    actor.passphrase,
    actor.trusteeRoot,
    actor.createdAt,
    actor.guardedUntil,
    actor.kind,
  ])
  // Sent together. Citus counts the rows of such a SELECT, also those with a conflict, so the statement returns its rows.
  const [inserted] = await Promise.all([
    tx.all(
      `INSERT INTO actor (id, creator, passphrase, trustee_root, created_at, guarded_until, kind)
     SELECT made.id, made.creator, made.passphrase, made.trustee_root, made.created_at, made.guarded_until, made.kind
     FROM rows($1, id TEXT, creator TEXT, passphrase TEXT, trustee_root TEXT, created_at BIGINT, guarded_until BIGINT, kind TEXT) AS made
     WHERE true ON CONFLICT (id) DO NOTHING RETURNING id`,
      JSON.stringify(rows),
    ),
    insertCreators(
      tx,
      actors.map(({ creator, id, createdAt }) => ({ creator, actorId: id, createdAt })),
    ),
  ])
  return inserted.length === actors.length
}

/** Locks the creator and returns whether no other actor has it. */
export async function isCreatorFree(tx: Transaction, creator: string, actorId: string): Promise<boolean> {
  await lockCreator(tx, creator)
  const holder = await findIdByCreator(tx, creator)
  return holder === null || holder === actorId
}

/** @param since Its place among the actors of this creator, of which the first one is found. Default: its time of creation. */
export async function setCreator(
  tx: Transaction,
  actorId: string,
  creator: string,
  since: number | null = null,
): Promise<void> {
  const row = await tx.get<{ creator: string; createdAt: number }>(
    'SELECT creator, created_at AS "createdAt" FROM actor WHERE id = $1',
    actorId,
  )
  if (row === undefined || row.creator === creator) return
  await tx.run('UPDATE actor SET creator = $2 WHERE id = $1', actorId, creator)
  await deleteCreator(tx, { creator: row.creator, actorId })
  await insertCreator(tx, { creator, actorId, createdAt: since ?? row.createdAt })
}

/** Where the actor lives. The transaction must have locked it. */
export async function setResidence(tx: Transaction, actorId: string, residence: Residence): Promise<void> {
  await tx.run('UPDATE actor SET residence = $2 WHERE id = $1', actorId, residence)
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

/** Condition: the actor of the column is not closed, and lives at no other service. Rows of deleted actors meet it too. */
export function isHere(column: string): string {
  return ` AND NOT EXISTS (SELECT 1 FROM actor a WHERE a.id = ${column} AND a.residence <> 'here')`
}

/** An actor under its lock, wherever it lives. */
export type Resident = Pick<LockedActor, 'id' | 'creator' | 'watchedUntil' | 'residence' | 'kind'>

/** Locks an actor that may be moving. Null: it does not exist. */
export async function lockResident(tx: Transaction, id: string): Promise<Resident | null> {
  const row = await tx.get<Resident>(
    'SELECT id, creator, watched_until AS "watchedUntil", residence, kind FROM actor WHERE id = $1 FOR UPDATE',
    id,
  )
  return row ?? null
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

/** Locks the actors of a locked creator in the order of their ids, so that no two transactions wait for each other. */
export async function lockActorsOf(tx: Transaction, creator: string): Promise<string[]> {
  const locked: string[] = []
  for (const id of (await findIdsByCreator(tx, creator, maxReplaced)).toSorted())
    locked.push(...(await lockActor(tx, id)))
  return locked
}

/** More actors of one creator than one transaction deletes. A replacement leaves the others to the next one. */
const maxReplaced = 10_000

export interface Deletion extends WithTables {
  /** Unix milliseconds. */
  readonly now: number
}

/** Deletes the actor's row, and by foreign keys and a trigger everything else of it. Rows of long lists are deleted later. */
export async function deleteActor(tx: Transaction, id: string, { now, tables }: Deletion): Promise<boolean> {
  if (tx.isSharded) await deleteRemoteRows(tx, id)
  await deleteWhereMany(tx, largeTablesWith(tables), id)
  const deleted = await tx.get<{ creator: string }>('DELETE FROM actor WHERE id = $1 RETURNING creator', id)
  if (deleted === undefined) return false
  await deleteCreator(tx, { creator: deleted.creator, actorId: id })
  await tx.run(
    'INSERT INTO deleted_actor (id, deleted_at) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET deleted_at = excluded.deleted_at',
    id,
    now,
  )
  return true
}

/** The tables of the core that may have many rows of an actor, with the columns of their keys, and with the sizes of their long rows. */
const largeTables: readonly ManyRows[] = [
  { table: 'property', key: 'name', size: 'octet_length(value)' },
  { table: 'diff', key: 'peer_id, subscription_id, sequence', size: 'octet_length(data)' },
  { table: 'delivery', key: 'peer_id, subscription_id, sequence', size: '1' },
  { table: 'publisher_subscription', key: 'peer_id, subscription_id', size: '1' },
  { table: 'trust', key: 'peer_id', size: '1' },
  { table: 'attribute', key: 'bucket, name', size: 'octet_length(data)' },
  { table: 'job_entry', key: 'kind, job_id, number', size: 'COALESCE(octet_length(data), 0)' },
  { table: 'history', key: 'seq', size: 'COALESCE(octet_length(content), 0)' },
  { table: 'activity', key: 'at, id', size: '1' },
]

function largeTablesWith(tables: readonly Table[]): readonly ManyRows[] {
  return [
    ...largeTables,
    ...tables.flatMap(({ name, manyRows }) => (manyRows === undefined ? [] : [{ table: name, ...manyRows }])),
  ]
}

/** Another life of an id begins, in which the actor did not come from another service. */
export async function clearDeletionMarker(tx: Transaction, id: string): Promise<void> {
  await tx.run(`DELETE FROM arrival WHERE actor_id = $1 AND state = 'here'`, id)
  await tx.run('DELETE FROM deleted_actor WHERE id = $1', id)
}

/** Deletes old records of deletions. Their ids stay known. */
export async function purgeDeletionMarkers(tx: Transaction, before: number): Promise<void> {
  await tx.run(
    `INSERT INTO former_actor (actor_id) SELECT id FROM deleted_actor WHERE deleted_at < $1 ON CONFLICT (actor_id) DO NOTHING`,
    before,
  )
  await tx.run('DELETE FROM deleted_actor WHERE deleted_at < $1', before)
}

/** Locks the record that the actor was deleted. False when an actor has the same id again. */
export async function lockDeletionMarker(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.get('SELECT id FROM deleted_actor WHERE id = $1 FOR UPDATE', id)) !== undefined
}

/** Whether an actor with this id was ever deleted here. */
export async function wasEverDeleted(q: Pick<Queries, 'get'>, id: string): Promise<boolean> {
  const row = await q.get(
    'SELECT id FROM deleted_actor WHERE id = $1 UNION ALL SELECT actor_id FROM former_actor WHERE actor_id = $1 LIMIT 1',
    id,
  )
  return row !== undefined
}

/** At most `most` actors that were deleted at `since` or later. */
export async function findDeletedActors(q: Queries, since: number, most: number): Promise<string[]> {
  const rows = await q.all<{ id: string }>(
    'SELECT id FROM deleted_actor WHERE deleted_at >= $1 ORDER BY deleted_at LIMIT $2',
    since,
    most,
  )
  return rows.map(({ id }) => id)
}

export async function hasDeletionMarker(q: Queries, id: string, since: number): Promise<boolean> {
  const row = await q.get('SELECT id FROM deleted_actor WHERE id = $1 AND deleted_at >= $2', id, since)
  return row !== undefined
}
