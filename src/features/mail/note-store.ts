/** The SQL of what messages to owners depend on. */
import type { Queries, Transaction } from '../../store/store.ts'
import { placedByActor } from '../../table/placement.ts'
import type { Table } from '../../table/table.ts'

/** Archives do not contain the rows: the service to which an actor moves notes its own sign-ins and reports. */
export const mailNoteTable: Table = { name: 'mail_note', place: placedByActor() }

export interface Note {
  readonly kind: 'device' | 'failing' | 'quota'
  readonly subject: string
}

/** BCP 47 tag. Empty: the owner has not signed in since the service stores the language. */
export async function findLanguage(q: Queries, actorId: string): Promise<string> {
  const row = await q.get<{ subject: string }>(
    `SELECT subject FROM mail_note WHERE actor_id = $1 AND kind = 'language'`,
    actorId,
  )
  return row?.subject ?? ''
}

export async function putLanguage(tx: Transaction, actorId: string, language: string, now: number): Promise<void> {
  await tx.run(`DELETE FROM mail_note WHERE actor_id = $1 AND kind = 'language' AND subject <> $2`, actorId, language)
  await tx.run(
    `INSERT INTO mail_note (actor_id, kind, subject, noted_at) VALUES ($1, 'language', $2, $3)
     ON CONFLICT (actor_id, kind, subject) DO NOTHING`,
    actorId,
    language,
    now,
  )
}

/**
 * Notes something. Returns whether it was not noted at or after a time.
 *
 * @param since Default: at any time.
 */
export async function note(
  tx: Transaction,
  actorId: string,
  { kind, subject }: Note,
  { now, since = 0 }: { readonly now: number; readonly since?: number },
): Promise<boolean> {
  const noted = await tx.run(
    `INSERT INTO mail_note (actor_id, kind, subject, noted_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (actor_id, kind, subject) DO UPDATE SET noted_at = excluded.noted_at WHERE mail_note.noted_at < $5`,
    actorId,
    kind,
    subject,
    now,
    since,
  )
  return noted === 1
}

export async function countDevices(q: Queries, actorId: string): Promise<number> {
  const row = await q.get<{ devices: number }>(
    `SELECT COUNT(*) AS devices FROM mail_note WHERE actor_id = $1 AND kind = 'device'`,
    actorId,
  )
  return row?.devices ?? 0
}

export async function deleteNote(tx: Transaction, actorId: string, { kind, subject }: Note): Promise<void> {
  await tx.run(
    '/* mail */ DELETE FROM mail_note WHERE actor_id = $1 AND kind = $2 AND subject = $3',
    actorId,
    kind,
    subject,
  )
}

/** A quota of an actor that was reported as nearly full. */
export interface ReportedQuota {
  readonly actorId: string
  readonly subject: string
}

/** The next reported quotas, in the order of the ids of their actors and of their names. */
export function findReportedQuotas(q: Queries, after: ReportedQuota, most: number): Promise<ReportedQuota[]> {
  return q.all(
    `/* mail */ SELECT actor_id AS "actorId", subject FROM mail_note
     WHERE kind = 'quota' AND (actor_id, subject) > ($1, $2) ORDER BY actor_id, subject LIMIT $3`,
    after.actorId,
    after.subject,
    most,
  )
}
