/** The rows of a PostgreSQL database as JSON, table by table. */
import { createGzip } from 'node:zlib'
import { pipeline, Readable } from 'node:stream'
import { tablesOf } from '../open-store.ts'
import type { Migration } from '../store/migrate.ts'
import type { SchemaTable } from '../store/schema-text.ts'
import type { Param, Queries, Transaction } from '../store/store.ts'

/** Migrations write its rows. */
const migrationsTable = 'feature_migration'

/** The tables of the service with data, each after those that it refers to. */
export async function tablesInOrder(migrations: readonly Migration[]): Promise<readonly SchemaTable[]> {
  const left = (await tablesOf(migrations)).filter(({ name }) => name !== migrationsTable)
  const ordered: SchemaTable[] = []
  const isDone = (name: string): boolean => ordered.some((table) => table.name === name)
  while (left.length > 0) {
    const next = left.findIndex((table) =>
      table.foreignKeys.every(({ table: name }) => name === table.name || isDone(name)),
    )
    if (next === -1) throw new Error('The tables refer to each other in a circle')
    ordered.push(...left.splice(next, 1))
  }
  return ordered
}

/** Bytes of a page, apart from its last row. */
const pageBytes = 1_048_576
const firstRows = 32
const maxRows = 2000

/**
 * Yields the rows of a table, in the order of its key. A page has as many rows as fit, by the rows before it: the server
 * makes the text of all rows of a page before it knows their size.
 */
export async function* rowLines(
  q: Queries,
  { name, primaryKey }: SchemaTable,
): AsyncGenerator<readonly string[], void> {
  const key = primaryKey.join(', ')
  let after: readonly Param[] | null = null
  let limit = firstRows
  for (;;) {
    const from: string = after === null ? '' : `WHERE (${key}) > (${after.map((_, n) => `$${n + 1}`).join(', ')})`
    const page: Record<string, Param>[] = await q.all<Record<string, Param>>(
      `/* backup */ SELECT ${key}, line, page_rows FROM (
         SELECT ${key}, line, COUNT(*) OVER () AS page_rows,
           SUM(octet_length(line)) OVER (ORDER BY ${key}) - octet_length(line) AS bytes_before
         FROM (SELECT ${key}, CAST(row_to_json(t) AS TEXT) AS line FROM ${name} AS t ${from}
           ORDER BY ${key} LIMIT ${limit}) AS page) AS counted
       WHERE bytes_before < ${pageBytes} ORDER BY ${key}`,
      ...(after ?? []),
    )
    const last = page.at(-1)
    if (last === undefined) return
    const lines = page.map(({ line }) => String(line))
    yield lines
    if (page.length === Number(last['page_rows']) && page.length < limit) return
    after = primaryKey.map((column) => last[column] ?? null)
    const bytes = lines.reduce((sum, line) => sum + line.length, 0)
    const fitting = Math.floor((pageBytes * lines.length) / bytes)
    limit = Math.max(1, Math.min(fitting, limit * 4, maxRows))
  }
}

/** The lines, compressed. @param counted Receives the number of rows of each page. */
export async function* zippedLines(
  pages: AsyncIterable<readonly string[]>,
  counted: (rows: number) => void,
): AsyncGenerator<Uint8Array, void> {
  async function* text(): AsyncGenerator<string, void> {
    for await (const lines of pages) {
      counted(lines.length)
      yield `${lines.join('\n')}\n`
    }
  }
  const stream = pipeline(Readable.from(text()), createGzip({ level: 1 }), () => {})
  try {
    yield* stream as AsyncIterable<Uint8Array>
  } finally {
    stream.destroy()
  }
}

/** Inserts rows. @param columns The columns of the table when its rows were written. */
export async function insertLines(
  tx: Transaction,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  lines: readonly string[],
): Promise<void> {
  const names = columns.join(', ')
  await tx.run(
    `/* restore */ INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(CAST(NULL AS ${table}), CAST($1 AS JSON))`,
    `[${lines.join(',')}]`,
  )
}
