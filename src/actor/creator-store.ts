/** The SQL that finds actors by their creator. A creator may have any number of actors. */
import type { Queries, Transaction } from '../store/store.ts'

/** Prefix of the creator of an actor that lost its name to the person who proved that name. */
export const unprovenPrefix = 'unproven:'

/** Reads the former creator from the creator of an actor that lost its name. Null: the actor has its name. */
export function formerCreatorOf({ id, creator }: { readonly id: string; readonly creator: string }): string | null {
  const suffix = `:${id}`
  return creator.startsWith(unprovenPrefix) && creator.endsWith(suffix)
    ? creator.slice(unprovenPrefix.length, -suffix.length)
    : null
}

/**
 * Serializes transactions that must see each other's actors of a creator, until the commit. The lock is a row, because an
 * advisory lock is valid on one server only.
 */
export async function lockCreator(tx: Transaction, creator: string): Promise<void> {
  // Until the commit, another transaction that inserts the same row waits, although this one deleted the row.
  await Promise.all([
    tx.run(
      `INSERT INTO creator (name, actor_id, created_at) VALUES ($1, '', 0) ON CONFLICT (name, actor_id) DO NOTHING`,
      creator,
    ),
    tx.run(`DELETE FROM creator WHERE name = $1 AND actor_id = ''`, creator),
  ])
}

/** Finds the actor of the verified creator, or else the oldest one, because anyone may create an actor under any name. */
export async function findIdByCreator(q: Queries, creator: string): Promise<string | null> {
  const row = await q.get<{ id: string }>(
    `SELECT c.actor_id AS id FROM creator c
     LEFT JOIN identity i ON i.name = c.name AND i.kind = 'identifier' AND i.actor_id = c.actor_id AND i.verified = 1
     WHERE c.name = $1
     ORDER BY CASE WHEN i.actor_id IS NULL THEN 1 ELSE 0 END, c.created_at, c.actor_id LIMIT 1`,
    creator,
  )
  return row?.id ?? null
}

/** Finds the actor that belongs to the verified creator. */
export async function findIdByProvenCreator(q: Queries, creator: string): Promise<string | null> {
  const row = await q.get<{ id: string }>(
    `SELECT c.actor_id AS id FROM creator c
     JOIN identity i ON i.name = c.name AND i.kind = 'identifier' AND i.actor_id = c.actor_id AND i.verified = 1
     WHERE c.name = $1`,
    creator,
  )
  return row?.id ?? null
}

/** Lists the actors of a creator, oldest first. */
export async function findIdsByCreator(q: Queries, creator: string, limit: number): Promise<string[]> {
  const rows = await q.all<{ id: string }>(
    `SELECT actor_id AS id FROM creator WHERE name = $1 ORDER BY created_at, actor_id LIMIT $2`,
    creator,
    limit,
  )
  return rows.map(({ id }) => id)
}

/** Lists the next actors of a creator after an id, ordered by id. */
export async function findIdsAfter(q: Queries, creator: string, after: string, limit: number): Promise<string[]> {
  const rows = await q.all<{ id: string }>(
    'SELECT actor_id AS id FROM creator WHERE name = $1 AND actor_id > $2 ORDER BY actor_id LIMIT $3',
    creator,
    after,
    limit,
  )
  return rows.map(({ id }) => id)
}

export interface CreatorEntry {
  readonly creator: string
  readonly actorId: string
  readonly createdAt: number
}

export async function insertCreator(tx: Transaction, { creator, actorId, createdAt }: CreatorEntry): Promise<void> {
  await tx.run(
    'INSERT INTO creator (name, actor_id, created_at) VALUES ($1, $2, $3) ON CONFLICT (name, actor_id) DO NOTHING',
    creator,
    actorId,
    createdAt,
  )
}

export async function insertCreators(tx: Transaction, entries: readonly CreatorEntry[]): Promise<void> {
  await tx.run(
    `INSERT INTO creator (name, actor_id, created_at)
     SELECT made.name, made.actor_id, made.created_at FROM rows($1, name TEXT, actor_id TEXT, created_at BIGINT) AS made
     WHERE true ON CONFLICT (name, actor_id) DO NOTHING`,
    JSON.stringify(entries.map(({ creator, actorId, createdAt }) => [creator, actorId, createdAt])),
  )
}

export async function deleteCreator(
  tx: Transaction,
  { creator, actorId }: Pick<CreatorEntry, 'creator' | 'actorId'>,
): Promise<void> {
  await tx.run('DELETE FROM creator WHERE name = $1 AND actor_id = $2', creator, actorId)
}
