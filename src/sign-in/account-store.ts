/** SQL of accounts. */
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Row, Transaction } from '../store/store.ts'
import { insertSupersededAccess } from './password-access-store.ts'

/** Prefix of the creator of an actor that lost its name to the person who proved that name. */
export const unprovenPrefix = 'unproven:'

/** Strings that sign-in stores about an actor's owner, besides the provider's tokens (R-OC-19). */
export type AccountFields = Readonly<Record<string, string>>

export interface Account {
  readonly actorId: string
  /** The creator of the actor. */
  readonly creator: string
  readonly identifier: string
  readonly verified: boolean
  readonly subject: string | null
  readonly fields: AccountFields
  readonly providerTokens: Sealed
}

type AccountRow = Row<Omit<Account, 'fields'>> & { readonly fields: string }

const select = `SELECT account.actor_id AS "actorId", actor.creator, account.identifier, account.verified, account.subject,
  account.fields, account.provider_tokens AS "providerTokens"
  FROM account JOIN actor ON actor.id = account.actor_id`

function toAccount(row: AccountRow): Account {
  return { ...row, verified: row.verified !== 0, fields: JSON.parse(row.fields) as AccountFields }
}

export async function findAccount(q: Queries, actorId: string): Promise<Account | null> {
  const row = await q.get<AccountRow>(`${select} WHERE account.actor_id = $1`, actorId)
  return row === undefined ? null : toAccount(row)
}

/** Finds at most two accounts: one by its identifier, and one by the person's subject at the provider. */
export async function findAccounts(q: Queries, identifier: string | null, subject: string): Promise<Account[]> {
  const rows = await q.all<AccountRow>(
    `${select} WHERE account.identifier = $1 OR account.subject = $2`,
    identifier,
    subject,
  )
  return rows.map(toAccount)
}

/** Returns whether an actor or account has this identifier, proven or not. */
export async function isTaken(q: Queries, identifier: string): Promise<boolean> {
  const row = await q.get(
    `SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM account WHERE identifier = $1)
       OR EXISTS (SELECT 1 FROM actor WHERE creator = $1)`,
    identifier,
  )
  return row !== undefined
}

/** Returns false when another account has the identifier or the subject, including one that is inserted concurrently. */
export async function insertAccount(
  tx: Transaction,
  account: Pick<Account, 'actorId' | 'identifier' | 'verified' | 'subject' | 'providerTokens'>,
): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO account (actor_id, identifier, verified, subject, fields, provider_tokens)
     VALUES ($1, $2, $3, $4, '{}', $5) ON CONFLICT DO NOTHING`,
    account.actorId,
    account.identifier,
    Number(account.verified),
    account.subject,
    account.providerTokens,
  )
  return inserted === 1
}

export async function updateAccount(
  tx: Transaction,
  account: Pick<Account, 'actorId' | 'verified' | 'fields' | 'providerTokens'>,
): Promise<void> {
  await tx.run(
    'UPDATE account SET verified = $2, fields = $3, provider_tokens = $4 WHERE actor_id = $1',
    account.actorId,
    Number(account.verified),
    JSON.stringify(account.fields),
    account.providerTokens,
  )
}

/** Lists actors of this creator without an account, oldest first. A person who knows the passphrase may join one. */
export async function findUnclaimed(
  q: Queries,
  creator: string,
): Promise<{ readonly id: string; readonly passphrase: Sealed }[]> {
  return q.all(
    `SELECT id, passphrase FROM actor
     WHERE creator = $1 AND NOT EXISTS (SELECT 1 FROM account WHERE account.actor_id = actor.id)
     ORDER BY created_at, id LIMIT 20`,
    creator,
  )
}

/** Maximum number of actors that the event `creator_superseded` names. */
const mostNamed = 100

export interface SetAside {
  /** The proven name. */
  readonly identifier: string
  /** The actor that keeps the name. */
  readonly keep: string
  readonly now: number
}

/**
 * Renames the actors that have the identifier without proof, because a person proved it. They keep their data and
 * passphrase; their sessions end. Programs that
 * created them may still use the identifier in Basic credentials, until the person revokes that access.
 *
 * @returns the ids of the renamed actors, at most 100.
 */
export async function setAside(tx: Transaction, { identifier, keep, now }: SetAside): Promise<readonly string[]> {
  await tx.run(
    `DELETE FROM token_chain WHERE kind = 'session' AND actor_id <> $2 AND actor_id IN (
       SELECT id FROM actor WHERE creator = $1 UNION SELECT actor_id FROM account WHERE identifier = $1)`,
    identifier,
    keep,
  )
  await insertSupersededAccess(tx, { creator: identifier, keep, now })
  const superseded = await tx.all<{ id: string }>(
    'SELECT id FROM actor WHERE creator = $1 AND id <> $2 ORDER BY created_at, id LIMIT $3',
    identifier,
    keep,
    mostNamed,
  )
  await tx.run(
    `UPDATE account SET identifier = '${unprovenPrefix}' || identifier || ':' || actor_id
     WHERE identifier = $1 AND verified = 0 AND actor_id <> $2`,
    identifier,
    keep,
  )
  await tx.run('DELETE FROM unique_creator WHERE creator = $1 AND actor_id <> $2', identifier, keep)
  // An actor that a program creates concurrently keeps its name, like an actor that is created later.
  await tx.run(
    `UPDATE actor SET creator = '${unprovenPrefix}' || creator || ':' || id WHERE creator = $1 AND id <> $2
     AND (EXISTS (SELECT 1 FROM password_access p WHERE p.actor_id = actor.id)
       OR EXISTS (SELECT 1 FROM account WHERE account.actor_id = actor.id))`,
    identifier,
    keep,
  )
  return superseded.map(({ id }) => id)
}
