/**
 * SQL of the stored operators, and of the link with which the first one begins. Both are settings of the whole store, because
 * they are a few names that every process reads.
 */
import type { SecretHash } from '../../secret/hash.ts'
import type { Queries, Transaction } from '../../store/store.ts'

export interface StoredOperator {
  /** A verified address, a provider id, or the fingerprint of a passkey. */
  readonly name: string
  /** Unix milliseconds. */
  readonly addedAt: number
  /** The name of the operator who added this one, or how it was added: `link` or `command`. */
  readonly addedBy: string
}

export interface OperatorLink {
  readonly hash: SecretHash
  /** Unix milliseconds. */
  readonly expiresAt: number
}

const operators = 'operators'
const link = 'operator_link'

/** Returns the stored operators, in the order in which they were added. */
export async function findStoredOperators(q: Queries): Promise<readonly StoredOperator[]> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', operators)
  return row === undefined ? [] : (JSON.parse(row.value) as StoredOperator[])
}

/** Like `findStoredOperators`, and lets other changes of them wait until the end of the transaction. */
export async function lockStoredOperators(tx: Transaction): Promise<readonly StoredOperator[]> {
  await tx.run(`INSERT INTO setting (name, value) VALUES ($1, '[]') ON CONFLICT (name) DO NOTHING`, operators)
  const row = await tx.get<{ value: string }>('SELECT value FROM setting WHERE name = $1 FOR UPDATE', operators)
  return JSON.parse(row?.value ?? '[]') as StoredOperator[]
}

/** Replaces the list that `lockStoredOperators` returned. */
export async function storeOperators(tx: Transaction, all: readonly StoredOperator[]): Promise<void> {
  await tx.run('UPDATE setting SET value = $2 WHERE name = $1', operators, JSON.stringify(all))
}

export async function findOperatorLink(q: Queries): Promise<OperatorLink | null> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', link)
  return row === undefined ? null : (JSON.parse(row.value) as OperatorLink)
}

export async function storeOperatorLink(tx: Transaction, next: OperatorLink): Promise<void> {
  await tx.run(
    'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value',
    link,
    JSON.stringify(next),
  )
}

export async function deleteOperatorLink(tx: Transaction): Promise<void> {
  await tx.run('DELETE FROM setting WHERE name = $1', link)
}
