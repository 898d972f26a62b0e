/** Reads the stored secrets of each column in pages. */
import type { Queries } from '../store/store.ts'
import { bindingOf, type SealedColumn } from './sealed-columns.ts'
import type { Sealed } from './sealed.ts'

const pageRows = 200

export interface StoredSecret {
  /** The row's primary key. */
  readonly key: readonly string[]
  readonly sealed: Sealed
  readonly binding: readonly string[]
}

export interface SealedPage {
  readonly secrets: readonly StoredSecret[]
  /** Key of the page's last row; null after the last page. */
  readonly last: readonly string[] | null
}

/** Reads the page of rows after the key `after`, in key order. Null reads the first page. An erased secret is empty, and left out. */
export async function sealedPage(
  q: Queries,
  column: SealedColumn,
  after: readonly string[] | null,
): Promise<SealedPage> {
  const names = column.key.join(', ')
  const from = after === null ? '' : `WHERE (${names}) > (${after.map((_, index) => `$${index + 1}`).join(', ')})`
  const secrets = await findSecrets(q, column, `${from} ORDER BY ${names} LIMIT ${pageRows}`, after ?? [])
  const last = secrets.length < pageRows ? null : (secrets.at(-1)?.key ?? null)
  return { secrets: secrets.filter(({ sealed }) => sealed !== ''), last }
}

/** @param which SQL after the table name: conditions, order and limit. */
export async function findSecrets(
  q: Pick<Queries, 'all'>,
  column: SealedColumn,
  which: string,
  params: readonly (string | number)[] = [],
): Promise<StoredSecret[]> {
  const rows = await q.all<Record<string, string>>(
    `SELECT ${column.key.join(', ')}, ${column.column} AS sealed FROM ${column.table} ${which}`,
    ...params,
  )
  return rows.map((row) => {
    const [actorId, ...rest] = column.key.map((name) => row[name] as string) as [string, ...string[]]
    return { key: [actorId, ...rest], sealed: row['sealed'] as Sealed, binding: bindingOf(column, actorId, ...rest) }
  })
}
