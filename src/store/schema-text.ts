/** Reads tables, keys and foreign keys from the text of the migrations. */
import type { Migration } from './migrate.ts'
import { compile } from './portable.ts'

export interface ForeignKey {
  readonly columns: readonly string[]
  readonly table: string
  readonly references: readonly string[]
  /** The rest of the definition: the action on deletion. */
  readonly action: string
}

export interface SchemaTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly primaryKey: readonly string[]
  readonly foreignKeys: readonly ForeignKey[]
  /** The columns of each unique index. */
  readonly uniqueIndexes: readonly (readonly string[])[]
}

/** The forms of statements by which a later migration changes a table. `CREATE TABLE` and `CREATE INDEX` are read too. */
const CHANGE = /^(?:ALTER TABLE (\w+) (?:ADD COLUMN (\w[^]*)|DROP COLUMN (\w+))|DROP TABLE (\w+))$/

export function readSchema(migrations: readonly Migration[]): SchemaTable[] {
  const sql = migrations
    .map((migration) => compile(migration.sql, 'postgres').text.replaceAll(/--[^\n]*/g, ''))
    .join('\n')
  const definitions = createdIn(sql)
  for (const statement of sql.split(';')) {
    const [, table = '', added, dropped, droppedTable = ''] = CHANGE.exec(statement.trim()) ?? []
    definitions.delete(droppedTable)
    if (added !== undefined) definitions.get(table)?.push(added)
    const kept = definitions.get(table)?.filter((column) => !column.startsWith(`${dropped} `))
    if (dropped !== undefined && kept !== undefined) definitions.set(table, kept)
  }
  const uniqueIndexes = [...sql.matchAll(/^CREATE UNIQUE INDEX \w+ ON (\w+) \(([^()]*)\)/gm)]
  return [...definitions].map(([name, parts]) => ({
    name,
    columns: parts.flatMap((definition) => /^([a-z]\w*) /.exec(definition)?.[1] ?? []),
    primaryKey: keyOf(parts),
    foreignKeys: [...parts.flatMap(columnReference), ...parts.flatMap(tableReference)],
    uniqueIndexes: uniqueIndexes.flatMap(([, of, columns = '']) => (of === name ? [list(columns)] : [])),
  }))
}

/** The definitions of columns, keys and checks, by the names of the tables that are created. */
function createdIn(sql: string): Map<string, string[]> {
  const [, ...tables] = sql.split(/^CREATE TABLE /m)
  return new Map(
    tables.map((table) => {
      const [name = '', ...rest] = table.split(' (\n', 2)
      const [body = ''] = rest.join('').split('\n)', 1)
      return [name, body.split(/,\s*\n(?= {2}\S)/).map((text) => text.trim())]
    }),
  )
}

/**
 * Returns a script without its foreign keys. On a sharded database, a new table cannot refer to a distributed one before it
 * is distributed itself: `troupe scale init` distributes the table and adds its keys.
 */
export function withoutForeignKeys(sql: string): string {
  const [first = '', ...referring] = sql.split(' REFERENCES ')
  return referring.reduce((text, part) => {
    const begin = text.lastIndexOf('FOREIGN KEY (')
    const isOfTable = begin > text.lastIndexOf('\n')
    return (
      (isOfTable ? text.slice(0, text.lastIndexOf(',', begin)) : text) + part.replace(/^\w+ \([^()]*\)[^,;\n]*/, '')
    )
  }, first)
}

function keyOf(definitions: readonly string[]): string[] {
  const own = definitions.find((definition) => /^[a-z]/.test(definition) && definition.includes('PRIMARY KEY'))
  if (own !== undefined) return [own.split(' ', 1)[0] ?? '']
  return definitions.flatMap((definition) => list(/^PRIMARY KEY \(([^()]*)\)/.exec(definition)?.[1] ?? ''))
}

function columnReference(definition: string): ForeignKey[] {
  const [, column] = /^([a-z]\w*) /.exec(definition) ?? []
  return column === undefined ? [] : referenceIn(definition, [column])
}

function tableReference(definition: string): ForeignKey[] {
  const [, columns] = /^(?:CONSTRAINT \w+ )?FOREIGN KEY \(([^()]*)\)/.exec(definition) ?? []
  return columns === undefined ? [] : referenceIn(definition, list(columns))
}

function referenceIn(definition: string, columns: readonly string[]): ForeignKey[] {
  const [, table = '', references = '', action = ''] = /\bREFERENCES (\w+) \(([^()]*)\)([^,\n]*)/.exec(definition) ?? []
  return table === '' ? [] : [{ columns, table, references: list(references), action: action.trim() }]
}

function list(columns: string): string[] {
  return columns === '' ? [] : columns.split(',').map((column) => column.trim())
}
