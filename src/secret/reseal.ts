/** Seals anew, under the current key, what older keys sealed. */
import type { Param, Store, Transaction } from '../store/store.ts'
import type { KeyRing } from './key-ring.ts'
import { needsReseal, open, seal, type Sealed } from './sealed.ts'
import { bindingOf, sealedColumns, type SealedColumn } from './sealed-columns.ts'

const pageRows = 200

interface Page {
  readonly resealed: number
  /** Key of the page's last row; null after the last page. */
  readonly last: readonly string[] | null
}

/**
 * Goes through all sealed columns in pages, each its own transaction, also while the service runs. When it resolves, no
 * value needs an older key, provided that every running process already seals with the current one. After a failure the
 * pages before it stay, and a repetition does the rest.
 *
 * @throws ServiceError `server_error` at the first value that does not open; its reason names key, actor and field.
 */
export async function resealAll(store: Store, ring: KeyRing): Promise<{ resealed: number }> {
  let resealed = 0
  for (const column of sealedColumns) {
    let last: readonly string[] | null = null
    do {
      const after: readonly string[] | null = last
      const page: Page = await store.write((tx) => resealPage(tx, ring, column, after))
      resealed += page.resealed
      last = page.last
    } while (last !== null)
  }
  return { resealed }
}

async function resealPage(
  tx: Transaction,
  ring: KeyRing,
  sealed: SealedColumn,
  after: readonly string[] | null,
): Promise<Page> {
  const { table, key, column } = sealed
  const names = key.join(', ')
  const from = after === null ? '' : `WHERE (${names}) > (${placeholders(1, key.length)})`
  const rows = await tx.all<Record<string, string>>(
    `SELECT ${names}, ${column} AS sealed FROM ${table} ${from} ORDER BY ${names} LIMIT ${pageRows}`,
    ...(after ?? []),
  )
  // The value read is part of the condition: a secret that was replaced meanwhile is already sealed with the current key.
  const update =
    `UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2` +
    key.map((name, index) => ` AND ${name} = $${index + 3}`).join('')
  let resealed = 0
  let last: readonly string[] | null = null
  for (const row of rows) {
    const value = row['sealed'] as Sealed
    last = key.map((name) => row[name] as string)
    if (!needsReseal(ring, value)) continue
    const [actorId, ...rest] = last as [string, ...string[]]
    const binding = bindingOf(sealed, actorId, ...rest)
    const params: Param[] = [seal(ring, open(ring, value, binding), binding), value, ...last]
    resealed += await tx.run(update, ...params)
  }
  return { resealed, last: rows.length < pageRows ? null : last }
}

function placeholders(first: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `$${first + index}`).join(', ')
}
