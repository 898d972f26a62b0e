/** The SQL of permission overrides. */
import { byActor, naming } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { OverrideRules } from '../permission/rules.ts'

export interface Override {
  readonly rules: OverrideRules
  readonly createdBy: string
  readonly notes: string
  /** Unix milliseconds. */
  readonly updatedAt: number
}

type OverrideRow = Omit<Override, 'rules'> & { readonly rules: string }

function toOverride(row: OverrideRow): Override {
  return { ...row, rules: JSON.parse(row.rules) as OverrideRules }
}

export function findOverride(q: Queries, actorId: string, peerId: string): Promise<Override | null> {
  return q
    .get<OverrideRow>(
      `SELECT rules, created_by AS "createdBy", notes, updated_at AS "updatedAt" FROM permission_override
     WHERE actor_id = $1 AND peer_id = $2`,
      actorId,
      peerId,
    )
    .then((row) => (row === undefined ? null : toOverride(row)))
}

/** Finds the overrides of many relationships with one statement, in any order. */
export async function findOverrides(
  q: Queries,
  relationships: readonly { readonly actorId: string; readonly peerId: string }[],
): Promise<{ readonly actorId: string; readonly peerId: string; readonly override: Override }[]> {
  if (relationships.length === 0) return []
  const rows = await byActor(
    q,
    relationships,
    ({ actorId }) => actorId,
    (own, only) => {
      const named = naming(only, 'o.actor_id', 2)
      return q.all<OverrideRow & { readonly actorId: string; readonly peerId: string }>(
        `SELECT o.actor_id AS "actorId", o.peer_id AS "peerId", o.rules, o.created_by AS "createdBy", o.notes,
       o.updated_at AS "updatedAt"
     FROM permission_override o
     JOIN rows($1, actor TEXT, peer TEXT) AS wanted ON o.actor_id = wanted.actor AND o.peer_id = wanted.peer${named.sql}`,
        JSON.stringify(own.map(({ actorId, peerId }) => [actorId, peerId])),
        ...named.params,
      )
    },
  )
  return rows.map(({ actorId, peerId, ...row }) => ({ actorId, peerId, override: toOverride(row) }))
}

/** The peers of an actor that have an override. */
export async function findOverridden(q: Queries, actorId: string): Promise<ReadonlySet<string>> {
  const rows = await q.all<{ peerId: string }>(
    'SELECT peer_id AS "peerId" FROM permission_override WHERE actor_id = $1',
    actorId,
  )
  return new Set(rows.map(({ peerId }) => peerId))
}

export async function putOverride(tx: Transaction, actorId: string, peerId: string, override: Override): Promise<void> {
  await tx.run(
    `INSERT INTO permission_override (actor_id, peer_id, rules, created_by, notes, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (actor_id, peer_id) DO UPDATE SET rules = excluded.rules, created_by = excluded.created_by,
       notes = excluded.notes, updated_at = excluded.updated_at`,
    actorId,
    peerId,
    JSON.stringify(override.rules),
    override.createdBy,
    override.notes,
    override.updatedAt,
  )
}

export async function deleteOverride(tx: Transaction, actorId: string, peerId: string): Promise<boolean> {
  return (await tx.run('DELETE FROM permission_override WHERE actor_id = $1 AND peer_id = $2', actorId, peerId)) === 1
}
