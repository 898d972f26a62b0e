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

export function readSchema(migrations: readonly Migration[]): SchemaTable[] {
  const sql = migrations
    .map((migration) => compile(migration.sql, 'postgres').text.replaceAll(/--[^\n]*/g, ''))
    .join('\n')
  const [, ...tables] = sql.split(/^CREATE TABLE /m)
  const uniqueIndexes = [...sql.matchAll(/^CREATE UNIQUE INDEX \w+ ON (\w+) \(([^()]*)\)/gm)]
  return tables.map((table) => {
    const [head = '', ...rest] = table.split(' (\n', 2)
    const [body = ''] = rest.join('').split('\n)', 1)
    const definitions = body.split(/,\s*\n(?= {2}\S)/).map((text) => text.trim())
    return {
      name: head,
      columns: definitions.flatMap((definition) => /^([a-z]\w*) /.exec(definition)?.[1] ?? []),
      primaryKey: keyOf(definitions),
      foreignKeys: [...definitions.flatMap(columnReference), ...definitions.flatMap(tableReference)],
      uniqueIndexes: uniqueIndexes.flatMap(([, name, columns = '']) => (name === head ? [list(columns)] : [])),
    }
  })
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
