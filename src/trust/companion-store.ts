/** The SQL of companions. */
import type { Sealed } from '../secret/sealed.ts'
import { byKey } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'

/** An actor at another service that this actor created and controls. This actor holds its passphrase. */
export interface Companion {
  readonly actorId: string
  readonly kind: string
  readonly peerId: string
  readonly baseuri: string
  readonly type: string
  readonly passphrase: Sealed
}

const columns = 'actor_id AS "actorId", kind, peer_id AS "peerId", baseuri, type, passphrase'

export async function findCompanion(q: Queries, actorId: string, kind: string): Promise<Companion | null> {
  const row = await q.get<Companion>(
    `SELECT ${columns} FROM companion WHERE actor_id = $1 AND kind = $2`,
    actorId,
    kind,
  )
  return row ?? null
}

export async function findCompanionsOf(q: Queries, actorIds: readonly string[]): Promise<Companion[]> {
  return byKey(q, actorIds, (named, params) =>
    q.all<Companion>(`SELECT ${columns} FROM companion WHERE ${named('actor_id')} ORDER BY actor_id, kind`, ...params),
  )
}

/** Returns false when the actor already has a companion of this kind. */
export async function insertCompanion(tx: Transaction, companion: Companion): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO companion (actor_id, kind, peer_id, baseuri, type, passphrase) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (actor_id, kind) DO NOTHING`,
    companion.actorId,
    companion.kind,
    companion.peerId,
    companion.baseuri,
    companion.type,
    companion.passphrase,
  )
  return inserted === 1
}

export async function deleteCompanion(tx: Transaction, actorId: string, kind: string): Promise<void> {
  await tx.run('DELETE FROM companion WHERE actor_id = $1 AND kind = $2', actorId, kind)
}
