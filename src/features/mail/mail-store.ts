/** The SQL of messages. Statements of the worker begin with the comment `mail`. */
import type { Sealed } from '../../secret/sealed.ts'
import type { Queries, Transaction } from '../../store/store.ts'
import type { MailKind } from './message.ts'

export type MailState = 'waiting' | 'sent' | 'refused' | 'unknown' | 'expired'

export interface StoredMail {
  readonly kind: MailKind
  readonly state: MailState
  /** Unix milliseconds. Null: the message was not handed over. */
  readonly handedAt: number | null
  readonly expiresAt: number
  readonly createdAt: number
  readonly content: Sealed
}

/** Stores a message with its attempt. False: the id was used before, or the actor does not exist. */
export async function insertMail(
  tx: Transaction,
  actorId: string,
  id: string,
  mail: Pick<StoredMail, 'kind' | 'expiresAt' | 'createdAt' | 'content'>,
): Promise<boolean> {
  const { kind, expiresAt, createdAt, content } = mail
  const inserted = await tx.run(
    `INSERT INTO mail (actor_id, mail_id, kind, content, expires_at, created_at)
     SELECT id, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS BIGINT)
     FROM actor WHERE id = $1 ON CONFLICT (actor_id, mail_id) DO NOTHING`,
    actorId,
    id,
    kind,
    content,
    expiresAt,
    createdAt,
  )
  if (inserted === 0) return false
  await tx.run(
    `INSERT INTO job (actor_id, kind, id, last, due_at, created_at) VALUES ($1, 'mail', $2, 1, $3, $3)`,
    actorId,
    id,
    createdAt,
  )
  return true
}

export async function findMail(q: Queries, actorId: string, id: string): Promise<StoredMail | null> {
  const row = await q.get<StoredMail>(
    `/* mail */ SELECT kind, state, handed_at AS "handedAt", expires_at AS "expiresAt", created_at AS "createdAt", content
     FROM mail WHERE actor_id = $1 AND mail_id = $2`,
    actorId,
    id,
  )
  return row ?? null
}

/** False: the message was handed over before, or has ended. */
export async function markHandedOver(tx: Transaction, actorId: string, id: string, now: number): Promise<boolean> {
  const marked = await tx.run(
    `/* mail */ UPDATE mail SET handed_at = $3
     WHERE actor_id = $1 AND mail_id = $2 AND state = 'waiting' AND handed_at IS NULL`,
    actorId,
    id,
    now,
  )
  return marked === 1
}

/** Takes the mark back, because the receiver has answered that it did not accept the message. */
export async function unmark(tx: Transaction, actorId: string, id: string): Promise<void> {
  await tx.run('/* mail */ UPDATE mail SET handed_at = NULL WHERE actor_id = $1 AND mail_id = $2', actorId, id)
}

/** Ends a message, and erases its content. */
export async function endMail(
  tx: Transaction,
  actorId: string,
  id: string,
  { state, reason }: { readonly state: Exclude<MailState, 'waiting'>; readonly reason: string },
): Promise<void> {
  await tx.run(
    `/* mail */ UPDATE mail SET state = $3, reason = $4, content = '' WHERE actor_id = $1 AND mail_id = $2`,
    actorId,
    id,
    state,
    reason,
  )
}

/** When the oldest waiting message was stored, in Unix milliseconds. Null: none waits. */
export async function oldestWaiting(q: Queries): Promise<number | null> {
  const row = await q.get<{ oldest: number | null }>(
    `/* mail */ SELECT MIN(created_at) AS oldest FROM mail WHERE state = 'waiting'`,
  )
  return row?.oldest ?? null
}

/** Deletes the messages that were stored before a time, with what waits. */
export async function deleteOldMail(tx: Transaction, before: number): Promise<void> {
  await tx.run('/* mail */ DELETE FROM mail WHERE created_at < $1', before)
}
