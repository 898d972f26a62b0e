/** SQL of accounts. */
import { findActorKind } from '../actor/actor-store.ts'
import { findIdsAfter, unprovenPrefix } from '../actor/creator-store.ts'
import { personKind, requirePerson } from '../app/kinds/person.ts'
import { byKey, changeByKey } from '../store/by-key.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Row, Store, Transaction } from '../store/store.ts'
import { insertSupersededAccess } from './password-access-store.ts'

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

/** Who has an identifier. */
interface Holder {
  /** The actor whose account has the identifier; null without one. */
  readonly actorId: string | null
  /** Whether an actor or account has the identifier, proven or not. */
  readonly isTaken: boolean
}

/** One statement, because a sharded database has no snapshot of two. */
async function findHolder(q: Queries, identifier: string): Promise<Holder> {
  const rows = await q.all<{ actorId: string; isAccount: number }>(
    `SELECT actor_id AS "actorId", 1 AS "isAccount" FROM identity WHERE name = $1 AND kind = 'identifier'
     UNION ALL SELECT * FROM (SELECT actor_id, 0 FROM creator WHERE name = $1 LIMIT 1) AS created`,
    identifier,
  )
  return { actorId: rows.find(({ isAccount }) => isAccount === 1)?.actorId ?? null, isTaken: rows.length > 0 }
}

/** Returns whether an actor or account has this identifier, proven or not. */
export async function isTaken(q: Queries, identifier: string): Promise<boolean> {
  return (await findHolder(q, identifier)).isTaken
}

export interface FoundAccounts {
  /** At most two: one by its identifier, and one by the person's subject at the provider. */
  readonly accounts: readonly Account[]
  /** Whether an actor or account has the identifier. */
  readonly isTaken: boolean
}

/**
 * Each name has a statement of its own, because a sharded database plans a statement for two servers each time.
 *
 * @returns null when an account is not there although its name is. On a sharded database, the commit of its creation or
 *   deletion has then reached one server and not yet the other.
 */
export async function findAccounts(
  q: Queries,
  identifier: string | null,
  subject: string,
): Promise<FoundAccounts | null> {
  const [holder, bySubject] = await Promise.all([
    identifier === null ? null : findHolder(q, identifier),
    q.get<{ actorId: string }>(
      `SELECT actor_id AS "actorId" FROM identity WHERE name = $1 AND kind = 'subject'`,
      subject,
    ),
  ])
  const ids = new Set([holder?.actorId, bySubject?.actorId].filter((id) => typeof id === 'string'))
  const found = await Promise.all([...ids].map((id) => findAccount(q, id)))
  const accounts = found.filter((account) => account !== null)
  return accounts.length < found.length ? null : { accounts, isTaken: holder?.isTaken === true }
}

/**
 * Returns false when another account has the identifier or the subject, including one that is inserted concurrently. The
 * transaction must then roll back.
 *
 * @throws ServiceError `forbidden` for an actor that is of no person.
 */
export async function insertAccount(
  tx: Transaction,
  account: Pick<Account, 'actorId' | 'identifier' | 'verified' | 'subject' | 'providerTokens'>,
): Promise<boolean> {
  const { actorId, identifier, subject } = account
  requirePerson(await findActorKind(tx, actorId))
  const inserted = await tx.run(
    `INSERT INTO account (actor_id, identifier, verified, subject, fields, provider_tokens)
     VALUES ($1, $2, $3, $4, '{}', $5) ON CONFLICT DO NOTHING`,
    actorId,
    identifier,
    Number(account.verified),
    subject,
    account.providerTokens,
  )
  if (inserted === 0) return false
  const identities = await tx.run(
    `INSERT INTO identity (name, kind, actor_id, verified)
     VALUES ($1, 'identifier', $2, $3)${subject === null ? '' : `, ($4, 'subject', $2, $3)`} ON CONFLICT DO NOTHING`,
    identifier,
    actorId,
    Number(account.verified),
    ...(subject === null ? [] : [subject]),
  )
  return identities === (subject === null ? 1 : 2)
}

/** Changes an account that was read in the same turn of the actor. */
export async function updateAccount(
  tx: Transaction,
  before: Account,
  after: Pick<Account, 'verified' | 'fields' | 'providerTokens'>,
): Promise<void> {
  await tx.run(
    'UPDATE account SET verified = $2, fields = $3, provider_tokens = $4 WHERE actor_id = $1',
    before.actorId,
    Number(after.verified),
    JSON.stringify(after.fields),
    after.providerTokens,
  )
  if (after.verified === before.verified) return
  await tx.run(
    `UPDATE identity SET verified = $3 WHERE name = $1 AND kind = 'identifier' AND actor_id = $2`,
    before.identifier,
    before.actorId,
    Number(after.verified),
  )
}

/** An actor of a person without an account, which a person who knows the passphrase may join. */
export interface Unclaimed {
  readonly id: string
  readonly passphrase: Sealed
  readonly createdAt: number
}

const maxOfBatch = 200

/**
 * Reads the actors of this creator without an account, in batches. All of them: anyone can create actors under the name of a
 * person, and a limit would hide the actor of the person behind those.
 */
export async function* unclaimedOf(store: Pick<Store, 'read'>, creator: string): AsyncGenerator<readonly Unclaimed[]> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const place: string = after
    const ids: readonly string[] = await store.read((q) => findIdsAfter(q, creator, place, maxOfBatch))
    yield await store.read((q) =>
      byKey(q, ids, (named, params) =>
        q.all<Unclaimed>(
          `SELECT id, passphrase, created_at AS "createdAt" FROM actor
           WHERE ${named('id')} AND kind = '${personKind}'
             AND NOT EXISTS (SELECT 1 FROM account WHERE account.actor_id = actor.id)`,
          ...params,
        ),
      ),
    )
    after = ids.length < maxOfBatch ? undefined : ids.at(-1)
  }
}

/** Maximum number of actors that the event `creator_superseded` names. */
const maxNamed = 100

export interface SetAside {
  /** The proven name. */
  readonly identifier: string
  /** The actor that keeps the name. */
  readonly keep: string
  readonly now: number
}

/**
 * Renames the actors that have the identifier without proof, because a person proved it. They keep their data and
 * passphrase; their sessions end. Programs that created them may still use the identifier in Basic credentials, until the
 * person revokes that access. An actor that a program creates concurrently keeps its name, like an actor that is created
 * later.
 *
 * @returns the ids of the renamed actors, at most 100.
 */
export async function setAside(tx: Transaction, { identifier, keep, now }: SetAside): Promise<readonly string[]> {
  const held = await tx.all<{ id: string; isCreator: number; isUnproven: number }>(
    `SELECT id, MAX(creators) AS "isCreator", MAX(unproven) AS "isUnproven" FROM (
       SELECT actor_id AS id, 1 AS creators, 0 AS unproven, created_at FROM creator WHERE name = $1
       UNION ALL SELECT actor_id, 0, 1 - verified, NULL FROM identity WHERE name = $1 AND kind = 'identifier') AS held
     WHERE id <> $2 GROUP BY id ORDER BY MIN(created_at), id`,
    identifier,
    keep,
  )
  if (held.length === 0) return []
  const ids = held.map(({ id }) => id)
  const created = held.filter(({ isCreator }) => isCreator === 1).map(({ id }) => id)
  await changeByKey(tx, ids, async (named, params) => {
    await tx.run(`DELETE FROM token_chain WHERE kind = 'session' AND ${named('actor_id')}`, ...params)
    return []
  })
  if (created.length > 0) await renameActors(tx, identifier, created, now)
  for (const { id, isUnproven } of held) if (isUnproven === 1) await renameAccount(tx, identifier, id)
  return created.slice(0, maxNamed)
}

async function renameActors(tx: Transaction, creator: string, ids: readonly string[], now: number): Promise<void> {
  const withoutAccount = await byKey(tx, ids, (named, params) =>
    tx.all<{ id: string }>(
      `SELECT id FROM actor
       WHERE ${named('id')} AND NOT EXISTS (SELECT 1 FROM account WHERE account.actor_id = actor.id)`,
      ...params,
    ),
  )
  await insertSupersededAccess(tx, { creator, actorIds: withoutAccount.map(({ id }) => id), now })
  const renamed = await changeByKey(tx, ids, (named, params) =>
    tx.all<{ id: string; creator: string; createdAt: number }>(
      `UPDATE actor SET creator = '${unprovenPrefix}' || creator || ':' || id WHERE ${named('id')} AND creator = $2
       RETURNING id, creator, created_at AS "createdAt"`,
      ...params,
      creator,
    ),
  )
  await tx.run(
    'DELETE FROM creator WHERE name = $1 AND actor_id IN (SELECT id FROM rows($2, id TEXT) AS renamed)',
    creator,
    JSON.stringify(ids.map((id) => [id])),
  )
  await tx.run(
    `INSERT INTO creator (name, actor_id, created_at)
     SELECT r.name, r.actor_id, r.created_at FROM rows($1, name TEXT, actor_id TEXT, created_at BIGINT) AS r`,
    JSON.stringify(renamed.map((actor) => [actor.creator, actor.id, actor.createdAt])),
  )
}

/** Takes the identifier from an account that has it without proof. */
async function renameAccount(tx: Transaction, identifier: string, actorId: string): Promise<void> {
  const name = `${unprovenPrefix}${identifier}:${actorId}`
  await tx.run('UPDATE account SET identifier = $2 WHERE actor_id = $1', actorId, name)
  await tx.run(`DELETE FROM identity WHERE name = $1 AND kind = 'identifier' AND actor_id = $2`, identifier, actorId)
  await tx.run(`INSERT INTO identity (name, kind, actor_id, verified) VALUES ($1, 'identifier', $2, 0)`, name, actorId)
}
