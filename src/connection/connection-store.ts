/** SQL of connections with third-party services. */
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Transaction } from '../store/store.ts'

export interface StoredConnection {
  readonly service: string
  readonly tokens: Sealed
  /** Unix milliseconds. */
  readonly connectedAt: number
}

const columns = 'service, tokens, connected_at AS "connectedAt"'

export async function findConnections(q: Queries, actorId: string): Promise<StoredConnection[]> {
  return q.all(`SELECT ${columns} FROM service_connection WHERE actor_id = $1 ORDER BY service`, actorId)
}

export async function findConnection(q: Queries, actorId: string, service: string): Promise<StoredConnection | null> {
  const row = await q.get<StoredConnection>(
    `SELECT ${columns} FROM service_connection WHERE actor_id = $1 AND service = $2`,
    actorId,
    service,
  )
  return row ?? null
}

export async function putConnection(tx: Transaction, actorId: string, made: StoredConnection): Promise<void> {
  await tx.run(
    `INSERT INTO service_connection (actor_id, service, tokens, connected_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (actor_id, service) DO UPDATE
     SET tokens = excluded.tokens, connected_at = excluded.connected_at, refreshing_until = 0`,
    actorId,
    made.service,
    made.tokens,
    made.connectedAt,
  )
}

/** Claims the refresh token until `until`. Returns true to exactly one caller. */
export async function claimRefresh(
  tx: Transaction,
  actorId: string,
  service: string,
  { tokens, now, until }: { readonly tokens: Sealed; readonly now: number; readonly until: number },
): Promise<boolean> {
  const claimed = await tx.run(
    `UPDATE service_connection SET refreshing_until = $5
     WHERE actor_id = $1 AND service = $2 AND tokens = $3 AND refreshing_until <= $4`,
    actorId,
    service,
    tokens,
    now,
    until,
  )
  return claimed === 1
}

export async function releaseRefresh(tx: Transaction, actorId: string, service: string, tokens: Sealed): Promise<void> {
  await tx.run(
    'UPDATE service_connection SET refreshing_until = 0 WHERE actor_id = $1 AND service = $2 AND tokens = $3',
    actorId,
    service,
    tokens,
  )
}

/** Replaces refreshed tokens. Returns false when the connection was replaced or deleted meanwhile. */
export async function replaceTokens(
  tx: Transaction,
  actorId: string,
  service: string,
  { from, to }: { readonly from: Sealed; readonly to: Sealed },
): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE service_connection SET tokens = $4, refreshing_until = 0 WHERE actor_id = $1 AND service = $2 AND tokens = $3',
    actorId,
    service,
    from,
    to,
  )
  return changed === 1
}

export async function deleteConnection(tx: Transaction, actorId: string, service: string): Promise<Sealed | null> {
  const row = await tx.get<{ readonly tokens: Sealed }>(
    'DELETE FROM service_connection WHERE actor_id = $1 AND service = $2 RETURNING tokens',
    actorId,
    service,
  )
  return row?.tokens ?? null
}
