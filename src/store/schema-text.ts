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
  return [...sql.matchAll(/^CREATE TABLE (\w+) \((.*?)^\)/gms)].map(([, name = '', body = '']) => ({
    name,
    columns: [...body.matchAll(/^ {2}([a-z]\w*) /gm)].map(([, column = '']) => column),
    primaryKey: keyOf(body),
    foreignKeys: [...columnReferences(body), ...tableReferences(body)],
    uniqueIndexes: [...sql.matchAll(new RegExp(`^CREATE UNIQUE INDEX \\w+ ON ${name} \\(([^)]*)\\)`, 'gm'))].map(
      ([, columns = '']) => list(columns),
    ),
  }))
}

function keyOf(body: string): string[] {
  const [, own] = /^ {2}(\w+) [^\n]*PRIMARY KEY/m.exec(body) ?? []
  const [, several = ''] = /^ {2}PRIMARY KEY \(([^)]*)\)/m.exec(body) ?? []
  return own === undefined || own === 'PRIMARY' ? list(several) : [own]
}

function columnReferences(body: string): ForeignKey[] {
  return [...body.matchAll(/^ {2}([a-z]\w*) [^\n]*?REFERENCES (\w+) \(([^)]*)\)([^,\n]*)/gm)].map(
    ([, column = '', table = '', references = '', action = '']) => ({
      columns: [column],
      table,
      references: list(references),
      action: action.trim(),
    }),
  )
}

function tableReferences(body: string): ForeignKey[] {
  return [...body.matchAll(/FOREIGN KEY \(([^)]*)\)\s+REFERENCES (\w+) \(([^)]*)\)([^,\n]*)/g)].map(
    ([, columns = '', table = '', references = '', action = '']) => ({
      columns: list(columns),
      table,
      references: list(references),
      action: action.trim(),
    }),
  )
}

function list(columns: string): string[] {
  return columns.split(',').map((column) => column.trim())
}
