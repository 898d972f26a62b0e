/** SQL of passkeys and recovery codes. All times are Unix milliseconds. */
import type { SecretHash } from '../../secret/hash.ts'
import type { Queries, Row, Transaction } from '../../store/store.ts'

export interface Passkey {
  readonly actorId: string
  /** Credential id in base64url. */
  readonly passkeyId: string
  /** COSE key (RFC 9052) in base64url. */
  readonly publicKey: string
  /** Signatures so far; 0 for a passkey that does not count them. */
  readonly counter: number
  /** How a browser reaches the passkey: `internal`, `hybrid`, `usb` and others. */
  readonly transports: readonly string[]
  /** True when several devices of the owner have the passkey. */
  readonly synced: boolean
  readonly name: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

type PasskeyRow = Row<Omit<Passkey, 'transports'>> & { readonly transports: string }

const columns = `actor_id AS "actorId", passkey_id AS "passkeyId", public_key AS "publicKey", counter, transports, synced,
  name, created_at AS "createdAt", last_used_at AS "lastUsedAt"`

function toPasskey(row: PasskeyRow): Passkey {
  return { ...row, synced: row.synced !== 0, transports: JSON.parse(row.transports) as string[] }
}

/** Lists the passkeys of an actor, oldest first. */
export async function findPasskeys(q: Queries, actorId: string): Promise<readonly Passkey[]> {
  const rows = await q.all<PasskeyRow>(
    `SELECT ${columns} FROM passkey WHERE actor_id = $1 ORDER BY created_at, passkey_id`,
    actorId,
  )
  return rows.map(toPasskey)
}

export async function findPasskey(q: Queries, actorId: string, passkeyId: string): Promise<Passkey | null> {
  const row = await q.get<PasskeyRow>(
    `SELECT ${columns} FROM passkey WHERE actor_id = $1 AND passkey_id = $2`,
    actorId,
    passkeyId,
  )
  return row === undefined ? null : toPasskey(row)
}

/** Returns false when the actor has the passkey. */
export async function insertPasskey(tx: Transaction, passkey: Passkey): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO passkey (actor_id, passkey_id, public_key, counter, transports, synced, name, created_at, last_used_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
    passkey.actorId,
    passkey.passkeyId,
    passkey.publicKey,
    passkey.counter,
    JSON.stringify(passkey.transports),
    Number(passkey.synced),
    passkey.name,
    passkey.createdAt,
    passkey.lastUsedAt,
  )
  return inserted === 1
}

/** Records a sign-in with the passkey. */
export async function updateUse(
  tx: Transaction,
  { actorId, passkeyId, counter, synced, lastUsedAt }: Passkey,
): Promise<void> {
  await tx.run(
    'UPDATE passkey SET counter = $3, synced = $4, last_used_at = $5 WHERE actor_id = $1 AND passkey_id = $2',
    actorId,
    passkeyId,
    counter,
    Number(synced),
    lastUsedAt,
  )
}

/** Returns false when the actor does not have the passkey. */
export async function updateName(tx: Transaction, { actorId, passkeyId, name }: PasskeyName): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE passkey SET name = $3 WHERE actor_id = $1 AND passkey_id = $2',
    actorId,
    passkeyId,
    name,
  )
  return changed === 1
}

export type PasskeyName = Pick<Passkey, 'actorId' | 'passkeyId' | 'name'>

export async function deletePasskey(tx: Transaction, actorId: string, passkeyId: string): Promise<void> {
  await tx.run('DELETE FROM passkey WHERE actor_id = $1 AND passkey_id = $2', actorId, passkeyId)
}

export async function insertCodeHashes(tx: Transaction, actorId: string, hashes: readonly SecretHash[]): Promise<void> {
  await tx.run(
    `INSERT INTO recovery_code (actor_id, hash)
     SELECT actor.id, r.hash FROM actor, rows($2, hash TEXT) AS r WHERE actor.id = $1`,
    actorId,
    JSON.stringify(hashes.map((hash) => [hash])),
  )
}

export async function findCodeHashes(q: Queries, actorId: string): Promise<readonly SecretHash[]> {
  const rows = await q.all<{ hash: SecretHash }>('SELECT hash FROM recovery_code WHERE actor_id = $1', actorId)
  return rows.map(({ hash }) => hash)
}

/** Returns false when the code was used or replaced. */
export async function deleteCodeHash(tx: Transaction, actorId: string, hash: SecretHash): Promise<boolean> {
  return (await tx.run('DELETE FROM recovery_code WHERE actor_id = $1 AND hash = $2', actorId, hash)) === 1
}

export async function deleteCodeHashes(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('DELETE FROM recovery_code WHERE actor_id = $1', actorId)
}
