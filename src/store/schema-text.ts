/** Reads tables, keys and foreign keys from the text of the migrations. */
import type { Migration } from './migrate.ts'
import { compile, type Dialect } from './portable.ts'

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
  /** Definitions that are neither a column of a known type nor a constraint. */
  readonly unknown: readonly string[]
  readonly primaryKey: readonly string[]
  readonly foreignKeys: readonly ForeignKey[]
  /** The columns of each unique index. */
  readonly uniqueIndexes: readonly (readonly string[])[]
}

/** `CREATE TABLE`, by the beginning of the statement. */
const CREATION = /^CREATE TABLE (\w+) ?\(/i
const UNIQUE_INDEX = /^CREATE UNIQUE INDEX \w+ ON (\w+) ?\(([^()]*)\)/i
/** The forms of statements by which a later migration changes a table. */
const CHANGE = /^(?:ALTER TABLE (\w+) (?:ADD COLUMN (\w[^]*)|DROP COLUMN (\w+))|DROP TABLE (\w+))$/i
/** The beginning of the definition of a constraint. */
const CONSTRAINT = /^(?:CONSTRAINT|PRIMARY KEY|FOREIGN KEY|UNIQUE|CHECK)\b/i
const REFERENCE =
  /\s?\bREFERENCES\s+(\w+)\s*\(([^()]*)\)((?:\s*ON\s+(?:DELETE|UPDATE)\s+(?:CASCADE|RESTRICT|SET\s+NULL|SET\s+DEFAULT|NO\s+ACTION))?)/gi

export function readSchema(migrations: readonly Migration[]): SchemaTable[] {
  const definitions = new Map<string, string[]>()
  const uniqueIndexes: (readonly [table: string, columns: readonly string[]])[] = []
  for (const statement of migrations.flatMap(({ sql }) => statementsIn(sql, 'postgres'))) {
    const [, created] = CREATION.exec(statement) ?? []
    if (created !== undefined)
      definitions.set(
        folded(created),
        cut(statement.slice(statement.indexOf('(') + 1, statement.lastIndexOf(')')), ','),
      )
    const [, indexed, columns = ''] = UNIQUE_INDEX.exec(statement) ?? []
    if (indexed !== undefined) uniqueIndexes.push([folded(indexed), list(columns)])
    const [, table = '', added, dropped, droppedTable = ''] = CHANGE.exec(statement) ?? []
    definitions.delete(folded(droppedTable))
    if (added !== undefined) definitions.get(folded(table))?.push(added)
    const kept = definitions.get(folded(table))?.filter((part) => columnIn(part) !== folded(dropped ?? ''))
    if (dropped !== undefined && kept !== undefined) definitions.set(folded(table), kept)
  }
  return [...definitions].map(([name, parts]) => ({
    name,
    columns: parts.flatMap((part) => columnIn(part) ?? []),
    unknown: parts.filter((part) => !CONSTRAINT.test(part) && !/^\w+ (?:TEXT|BIGINT)\b/.test(part)),
    primaryKey: keyOf(parts),
    foreignKeys: [...parts.flatMap(columnReference), ...parts.flatMap(tableReference)],
    uniqueIndexes: uniqueIndexes.flatMap(([of, columns]) => (of === name ? [columns] : [])),
  }))
}

/** The statements of a migration, without comments, with one space between words. */
export function statementsIn(sql: string, dialect: Dialect): string[] {
  return cut(compile(sql, dialect).text, ';')
}

const TOKEN = /(?<gap>\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$))|'[^']*'?|"[^"]*"?|[^\s'"/(),;-]+|[^]/g

/** Cuts SQL at a separator outside of parentheses, strings and comments. White space and comments become one space. */
function cut(sql: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let part = ''
  let depth = 0
  for (const { 0: token, groups } of sql.matchAll(TOKEN)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token === separator && depth === 0) {
      parts.push(part)
      part = ''
    } else if (groups?.['gap'] === undefined) part += token
    else if (!part.endsWith(' ')) part += ' '
  }
  return [...parts, part].map((text) => text.trim()).filter((text) => text !== '')
}

/** PostgreSQL and SQLite do not distinguish the case of names. */
function folded(name: string): string {
  return name.toLowerCase()
}

function columnIn(definition: string): string | undefined {
  const [, name] = CONSTRAINT.test(definition) ? [] : (/^(\w+) /.exec(definition) ?? [])
  return name === undefined ? undefined : folded(name)
}

/**
 * Returns a script without its foreign keys. On a sharded database, a new table cannot refer to a distributed one before it
 * is distributed itself: `troupe scale init` distributes the table and adds its keys.
 */
export function withoutForeignKeys(sql: string): string {
  return sql.replaceAll(/,\s*(?:CONSTRAINT\s+\w+\s+)?FOREIGN\s+KEY\s*\([^()]*\)/gi, '').replaceAll(REFERENCE, '')
}

function keyOf(definitions: readonly string[]): string[] {
  const own = definitions.find((part) => columnIn(part) !== undefined && /\bPRIMARY KEY\b/i.test(part))
  if (own !== undefined) return [columnIn(own) ?? '']
  return definitions.flatMap((part) => list(/^(?:CONSTRAINT \w+ )?PRIMARY KEY ?\(([^()]*)\)/i.exec(part)?.[1] ?? ''))
}

function columnReference(definition: string): ForeignKey[] {
  const column = columnIn(definition)
  return column === undefined ? [] : referenceIn(definition, [column])
}

function tableReference(definition: string): ForeignKey[] {
  const [, columns] = /^(?:CONSTRAINT \w+ )?FOREIGN KEY ?\(([^()]*)\)/i.exec(definition) ?? []
  return columns === undefined ? [] : referenceIn(definition, list(columns))
}

function referenceIn(definition: string, columns: readonly string[]): ForeignKey[] {
  return [...definition.matchAll(REFERENCE)].map(([, table = '', references = '', action = '']) => ({
    columns,
    table: folded(table),
    references: list(references),
    action: action.trim(),
  }))
}

function list(columns: string): string[] {
  return columns === '' ? [] : columns.split(',').map((column) => folded(column.trim()))
}
