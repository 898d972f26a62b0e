/** SQL of API keys. A key is a chain with one access token; its relationship has the name and the end. */
import type { OverrideRules } from '../permission/rules.ts'
import type { Queries, Transaction } from '../store/store.ts'

export interface StoredKey {
  /** Id of the relationship, which is also the id of the client. */
  readonly id: string
  readonly name: string
  readonly approved: boolean
  readonly rules: OverrideRules
  /** Unix milliseconds, like the other times. */
  readonly createdAt: number
  /** Null before the first use. Accurate to one minute. */
  readonly lastUsedAt: number | null
  /** Null: no end. */
  readonly until: number | null
}

interface KeyRow {
  readonly id: string
  readonly name: string
  readonly approved: number
  readonly rules: string | null
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly until: number | null
}

/** Lists the keys of an actor, newest first. @param id Null: all keys. */
export async function findApiKeys(q: Queries, actorId: string, id: string | null): Promise<StoredKey[]> {
  const rows = await q.all<KeyRow>(
    `SELECT r.peer_id AS id, r.description AS name, r.approved, o.rules, r.created_at AS "createdAt",
       c.last_used_at AS "lastUsedAt", r.approved_until AS until
     FROM token_chain c
     JOIN trust r ON r.actor_id = c.actor_id AND r.peer_id = c.peer_id
     LEFT JOIN permission_override o ON o.actor_id = r.actor_id AND o.peer_id = r.peer_id
     WHERE c.actor_id = $1 AND c.kind = 'client' AND r.established_via = 'api_key'${id === null ? '' : ' AND r.peer_id = $2'}
     ORDER BY r.created_at DESC, r.peer_id`,
    actorId,
    ...(id === null ? [] : [id]),
  )
  return rows.map(({ rules, lastUsedAt, ...row }) => ({
    ...row,
    approved: row.approved !== 0,
    rules: rules === null ? {} : (JSON.parse(rules) as OverrideRules),
    lastUsedAt: lastUsedAt === 0 ? null : lastUsedAt,
  }))
}

export async function countKeys(q: Queries, actorId: string): Promise<number> {
  const row = await q.get<{ keys: number }>(
    `SELECT COUNT(*) AS keys FROM trust WHERE actor_id = $1 AND established_via = 'api_key'`,
    actorId,
  )
  return row?.keys ?? 0
}

/**
 * Deletes the token of a key on its server of a sharded database, in the transaction that ends the relationship. Tokens of
 * other clients expire there, but a key may have no end.
 */
export async function deleteRemoteKey(tx: Transaction, actorId: string, peerId: string): Promise<void> {
  const chain = await tx.get<{ hash: string }>(
    `SELECT chain_id AS hash FROM token_chain WHERE actor_id = $1 AND peer_id = $2 AND began_with = 'key'`,
    actorId,
    peerId,
  )
  if (chain !== undefined) await tx.run('DELETE FROM token WHERE hash = $1', chain.hash)
}
