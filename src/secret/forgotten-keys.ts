/**
 * The ids of keys that are lost for good (docs/decisions/099). Their secrets stay in the store and do not open. A service starts
 * nevertheless, and a key that is found later opens them again.
 */
import type { Queries, Transaction } from '../store/store.ts'

const name = 'forgotten_keys'

export async function findForgottenKeys(q: Queries): Promise<ReadonlySet<string>> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', name)
  return new Set(row === undefined ? [] : (JSON.parse(row.value) as string[]))
}

export async function forgetKeys(tx: Transaction, ids: Iterable<string>): Promise<void> {
  const all = new Set([...(await findForgottenKeys(tx)), ...ids])
  await tx.run(
    'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    name,
    JSON.stringify([...all].toSorted()),
  )
}
