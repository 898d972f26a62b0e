/** Finds the SQL statements of the source text. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { placements } from '../../src/store/placement.ts'

export interface SourceStatement {
  /** The file below src. */
  readonly file: string
  /** The text in one line, with the constants of its file in their places. */
  readonly text: string
}

const root = join(import.meta.dirname, '..', '..', 'src')

/** Template literals and quoted strings. A template may contain further literals in its expressions. */
const literal = /`(?:[^`\\]|\\[\s\S]|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\})*`|'(?:[^'\\\n]|\\.)*'/g
const statementStart = /^(?:\/\*[^*]*\*\/ *)?(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH) /

/** The statements of src, without those of the drivers and of the migrations. */
export async function sourceStatements(): Promise<SourceStatement[]> {
  const files = await Array.fromAsync(glob('**/*.ts', { cwd: root }))
  return files
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !file.startsWith('store/') || file === 'store/lock-actor.ts')
    .toSorted()
    .flatMap((file) => statementsOf(file, readFileSync(join(root, file), 'utf8')))
}

function statementsOf(file: string, source: string): SourceStatement[] {
  const text = source.replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, '')
  const constants = new Map(
    [...text.matchAll(/^(?:export )?const (\w+) =\s*('[^'\n]*'|`[^`]*`)/gm)].map(([, name = '', value = '']) => [
      name,
      value.slice(1, -1),
    ]),
  )
  return [...text.matchAll(literal)]
    .map(([found]) => found.slice(1, -1))
    .map((sql) => sql.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => constants.get(name) ?? whole))
    .map((sql) => sql.replaceAll(/\s+/g, ' ').trim())
    .filter((sql) => statementStart.test(sql) && tablesOf(sql).length > 0)
    .map((sql) => ({ file, text: sql }))
}

/** The tables that a statement names. */
export function tablesOf(sql: string): string[] {
  const found = [...sql.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE) (\w+)/g)].map(([, table = '']) => table)
  return [...new Set(found)].filter((table) => table in placements)
}

/** The distributed tables of a statement that no parameter of the statement places on one server. */
export function unplacedTables(sql: string): string[] {
  const tables = tablesOf(sql).flatMap((table) => {
    const place = placements[table]
    return place?.kind === 'distributed' ? [{ table, ...place }] : []
  })
  // Tables of one group are joined by their key, so the key of one table places the others.
  const placed = new Set(tables.filter((one) => places(sql, one.table, one.column)).map(({ group }) => group))
  return tables.filter(({ group }) => !placed.has(group)).map(({ table }) => table)
}

function places(sql: string, table: string, column: string): boolean {
  if (new RegExp(`\\b${column} = (?:ANY\\()?\\$\\d`).test(sql)) return true
  // The helpers of store/by-key.ts add the condition on a sharded database.
  if (/\$\{named(?:\.sql|\[)/.test(sql)) return true
  if (new RegExp(`\\$\\{named\\('(?:\\w+\\.)?${column}'\\)`).test(sql)) return true
  return new RegExp(
    `\\bINSERT INTO ${table} (?:AS \\w+ )?\\((?:[^)]*\\b${column}\\b[^)]*\\) VALUES|${column}\\b[^)]*\\) SELECT \\$1,)`,
  ).test(sql)
}
