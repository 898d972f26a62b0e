/** The SQL of invitations. */
import type { SecretHash } from '../../secret/hash.ts'
import type { Queries, Transaction } from '../../store/store.ts'

export interface Invitation {
  readonly actorId: string
  readonly invitationId: string
  readonly codeHash: SecretHash
  /** Name of the trust type that the invited person gets. */
  readonly relationship: string
  /** Nickname that the connection will have. Empty: none. */
  readonly nickname: string
  /** Role of the invited member of a group. Null: another relationship. */
  readonly role: string | null
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly endsAt: number
}

const columns = `actor_id AS "actorId", invitation_id AS "invitationId", code_hash AS "codeHash", relationship, nickname, role,
  created_at AS "createdAt", ends_at AS "endsAt"`

export async function insertInvitation(tx: Transaction, invitation: Invitation): Promise<void> {
  await tx.run(
    `INSERT INTO invitation (actor_id, invitation_id, code_hash, relationship, nickname, role, created_at, ends_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    invitation.actorId,
    invitation.invitationId,
    invitation.codeHash,
    invitation.relationship,
    invitation.nickname,
    invitation.role,
    invitation.createdAt,
    invitation.endsAt,
  )
}

/** Returns the invitations that have not ended at `now` (Unix milliseconds), newest first. */
export function findInvitations(q: Queries, actorId: string, now: number): Promise<Invitation[]> {
  return q.all<Invitation>(
    `SELECT ${columns} FROM invitation WHERE actor_id = $1 AND ends_at > $2 ORDER BY created_at DESC, invitation_id`,
    actorId,
    now,
  )
}

/** Returns the invitation with this code, unless it has ended at `now` (Unix milliseconds). */
export async function findInvitation(
  q: Queries,
  { actorId, codeHash, now }: Pick<Invitation, 'actorId' | 'codeHash'> & { readonly now: number },
): Promise<Invitation | null> {
  const found = await q.get<Invitation>(
    `SELECT ${columns} FROM invitation WHERE actor_id = $1 AND code_hash = $2 AND ends_at > $3`,
    actorId,
    codeHash,
    now,
  )
  return found ?? null
}

/** Returns whether the invitation existed. */
export async function deleteInvitation(
  tx: Transaction,
  { actorId, invitationId }: Pick<Invitation, 'actorId' | 'invitationId'>,
): Promise<boolean> {
  return (
    (await tx.run('DELETE FROM invitation WHERE actor_id = $1 AND invitation_id = $2', actorId, invitationId)) === 1
  )
}

/** Deletes the invitations of the actor that have ended at `now` (Unix milliseconds). */
export async function deleteEndedInvitations(tx: Transaction, actorId: string, now: number): Promise<void> {
  await tx.run('DELETE FROM invitation WHERE actor_id = $1 AND ends_at <= $2', actorId, now)
}
