/** The SQL of requests with an idempotency key. */
import type { Sealed } from '../secret/sealed.ts'
import { naming } from '../store/by-key.ts'
import type { Queries, Row, Transaction } from '../store/store.ts'

export interface OnceKey {
  readonly actorId: string
  /** Hash of caller and key. */
  readonly key: string
}

export interface OnceRow {
  /** Hash of the request. */
  readonly request: string
  readonly isAnswered: boolean
  readonly answer: Sealed
}

/** Stores a request. False when its key is already in use. @throws ServiceError `conflict` when the actor was deleted. */
export async function insertOnce(
  tx: Transaction,
  { actorId, key }: OnceKey,
  { request, answer }: Pick<OnceRow, 'request' | 'answer'>,
  now: number,
): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO idempotent_request (actor_id, key, request, answered, answer, created_at) VALUES ($1, $2, $3, 0, $4, $5)
     ON CONFLICT (actor_id, key) DO NOTHING`,
    actorId,
    key,
    request,
    answer,
    now,
  )
  return inserted === 1
}

export async function findOnce(q: Queries, { actorId, key }: OnceKey): Promise<OnceRow | null> {
  const row = await q.get<Row<OnceRow>>(
    'SELECT request, answered AS "isAnswered", answer FROM idempotent_request WHERE actor_id = $1 AND key = $2',
    actorId,
    key,
  )
  return row === undefined ? null : { ...row, isAnswered: row.isAnswered !== 0 }
}

export async function putAnswer(tx: Transaction, { actorId, key }: OnceKey, answer: Sealed): Promise<void> {
  await tx.run(
    'UPDATE idempotent_request SET answered = 1, answer = $3 WHERE actor_id = $1 AND key = $2 AND answered = 0',
    actorId,
    key,
    answer,
  )
}

export async function deleteOnce(tx: Transaction, { actorId, key }: OnceKey): Promise<void> {
  await tx.run('DELETE FROM idempotent_request WHERE actor_id = $1 AND key = $2', actorId, key)
}

export async function deleteOnceBefore(tx: Transaction, before: number, actorId: string | null): Promise<void> {
  const named = naming(actorId, 'actor_id', 2)
  await tx.run(`DELETE FROM idempotent_request WHERE created_at < $1${named.sql}`, before, ...named.params)
}
