/** Checks that the features of an application fit to those of the service, before anything is opened. */
import { recordKindsWith } from '../archive/record-kinds.ts'
import { ConfigError, Problems } from '../config/config-error.ts'
import { options as coreOptions } from '../config/options.ts'
import { groupsWith } from '../pages/all-pages.ts'
import { readMigrations } from '../store/migrate.ts'
import { readSchema, type SchemaTable, statementsIn } from '../store/schema-text.ts'
import type { Table } from '../table/table.ts'
import type { Feature } from './feature.ts'
import { orderedFeatures } from './features.ts'
import { builtInFeatures } from './list.ts'

/** A name that only one owner may have. */
interface Named {
  readonly kind: string
  readonly name: string
}

/**
 * Returns the features of the service and of the application.
 *
 * @throws ConfigError that names both owners of a name, or the script or table that breaks a rule.
 */
export function fittingFeatures(
  own: readonly Feature[],
  others: readonly Feature[] = builtInFeatures,
): readonly Feature[] {
  if (own.length === 0) return others
  const problems = new Problems()
  const all = [...others, ...own]
  const ofCore = coreTables()
  const tableNames = { ofCore, names: all.map(({ name }) => name).toSorted((a, b) => b.length - a.length) }
  for (const feature of own) for (const problem of problemsOf(feature, tableNames)) problems.add(problem)
  const owners = new Map<string, string>(namesOfCore(ofCore).map((named) => [keyOf(named), 'the service']))
  for (const feature of all)
    for (const named of namesOf(feature)) {
      const owner = owners.get(keyOf(named))
      if (owner !== undefined)
        problems.add(
          `Cannot use the feature ${feature.name}: its ${named.kind} ${named.name} has the name of one of ${owner}. Give it another name.`,
        )
      owners.set(keyOf(named), `the feature ${feature.name}`)
    }
  problems.requireNone()
  problems.collect(() => ordered(all), all)
  problems.requireNone()
  return all
}

function ordered(all: readonly Feature[]): readonly Feature[] {
  try {
    return orderedFeatures(all)
  } catch (error) {
    throw new ConfigError(`${(error as Error).message}.`)
  }
}

function keyOf({ kind, name }: Named): string {
  return `${kind} ${name}`
}

/** Records that are not rows of one table. */
const kindsApart = ['archive', 'account', 'property', 'list', 'item', 'bytes', 'end']

function namesOfCore(tables: readonly string[]): readonly Named[] {
  return [
    ...Object.entries(coreOptions).flatMap(([name, { env }]) => optionNames(name, env)),
    ...tables.map((name) => ({ kind: 'table', name })),
    ...[...kindsApart, ...recordKindsWith([]).map(({ kind }) => kind)].map((name) => ({
      kind: 'kind of records',
      name,
    })),
    ...groupsWith([]).flatMap(namesOfPages),
  ]
}

function coreTables(): readonly string[] {
  return ['schema_migrations', ...readSchema(readMigrations()).map(({ name }) => name)]
}

/** Whether the name of a feature is that of a table, or begins it. */
function beginsTable(name: string, table: string): boolean {
  return table === name || table.startsWith(`${name}_`)
}

function optionNames(name: string, env: string): readonly Named[] {
  return [
    { kind: 'option', name },
    { kind: 'variable', name: env },
  ]
}

function namesOfPages({ section, pages }: NonNullable<Feature['pages']>): readonly Named[] {
  return [
    ...pages.map(({ name }) => ({ kind: 'page', name })),
    ...(section === undefined ? [] : [{ kind: 'path', name: section.path }]),
  ]
}

function namesOf({ name, tables, options, pages, migrations, acts }: Feature): readonly Named[] {
  return [
    { kind: 'name', name },
    ...Object.entries(options).flatMap(([option, { env }]) => optionNames(option, env)),
    // The migrations of the service create the tables of its features.
    ...(migrations.length === 0 ? [] : tables.map((table) => ({ kind: 'table', name: table.name }))),
    ...tables.flatMap(({ records }) =>
      records === undefined ? [] : [{ kind: 'kind of records', name: records.kind }],
    ),
    ...(pages === undefined ? [] : namesOfPages(pages)),
    ...acts.map(({ spelling }) => ({ kind: 'act', name: spelling })),
  ]
}

/** The statements of scripts that backups and sharded databases follow. */
const forms = [
  /^CREATE TABLE (?<table>\w+) ?\(/i,
  /^CREATE (?:UNIQUE )?INDEX \w+ ON (?<table>\w+) ?\(/i,
  /^ALTER TABLE (?<table>\w+) (?:ADD COLUMN \w+ |DROP COLUMN \w+$)/i,
  /^DROP TABLE (?<table>\w+)$/i,
  /^(?:INSERT INTO|UPDATE|DELETE FROM) (?<table>\w+)(?=[ (]|$)/i,
]

const dialects = ['sqlite', 'postgres'] as const

interface TableNames {
  readonly ofCore: readonly string[]
  /** The names of all features, the longest one first. */
  readonly names: readonly string[]
}

function problemsOf({ name, migrations, tables, options }: Feature, { ofCore, names }: TableNames): readonly string[] {
  const cannot = (why: string): string => `Cannot use the feature ${name}: ${why}.`
  // The longest of several names owns the tables that it begins.
  const isOwn = (table: string): boolean => names.find((one) => beginsTable(one, table)) === name
  const prefix = `TROUPE_${name.toUpperCase()}_`
  const declared = new Set(tables.map((table) => table.name))
  const created = readSchema(migrations)
  return [
    ...ofCore
      .filter((table) => beginsTable(name, table))
      .slice(0, 1)
      .map((table) => cannot(`its name begins that of the table ${table} of the service. Give it another name`)),
    ...migrations.flatMap((migration, at) =>
      migration.number === at + 1
        ? []
        : [cannot(`its migrations must have the numbers 1 to ${migrations.length}, in this order`)],
    ),
    ...migrations.flatMap(({ number, sql }) =>
      dialects
        .flatMap((dialect) => statementsIn(sql, dialect))
        .flatMap((statement) => {
          const table = forms
            .map((form) => form.exec(statement)?.groups?.['table']?.toLowerCase())
            .find((found) => found !== undefined)
          const shown = JSON.stringify(statement.slice(0, 80))
          if (table === undefined) return [cannot(`its migration ${number} has a statement of another form: ${shown}`)]
          return isOwn(table) && !ofCore.includes(table)
            ? []
            : [cannot(`its migration ${number} changes the table ${table}, which is not its own`)]
        }),
    ),
    ...[...declared].flatMap((table) =>
      isOwn(table) ? [] : [cannot(`its table ${table} must be named ${name}, or begin with ${name}_`)],
    ),
    ...created.flatMap((table) =>
      declared.has(table.name)
        ? []
        : [cannot(`its migrations create the table ${table.name}, which it does not declare`)],
    ),
    ...tables.flatMap((table) =>
      misfitsOf(
        table,
        created.find(({ name: one }) => one === table.name),
      ).map(cannot),
    ),
    ...Object.values(options).flatMap(({ env }) =>
      env.startsWith(prefix) ? [] : [cannot(`its variable ${env} must begin with ${prefix}`)],
    ),
    ...tables.flatMap(({ quotas = [] }) =>
      quotas.flatMap(({ setting }) =>
        Object.hasOwn(options, setting)
          ? []
          : [cannot(`its quota names the option ${setting}, which it does not have`)],
      ),
    ),
  ]
}

/** Differences between the declaration of a table and its migrations. A backup or an archive would leave out rows or columns. */
function misfitsOf(
  { name, key = [], sealed = [], records }: Table,
  created: SchemaTable | undefined,
): readonly string[] {
  if (created === undefined) return [`its migrations create no table ${name}`]
  const wanted = ['actor_id', ...key].join(', ')
  const found = created.primaryKey.join(', ')
  const members = records?.members.map(({ column }) => column) ?? []
  const named = new Set([...members, ...sealed.map(({ column }) => column)])
  const isDeletedWithActor = created.foreignKeys.some(
    ({ columns, table, references, action }) =>
      [columns, table, references].join() === 'actor_id,actor,id' && /^ON DELETE CASCADE$/i.test(action),
  )
  return [
    ...(found === wanted ? [] : [`its migrations create ${name} with the key (${found}), and it declares (${wanted})`]),
    ...(isDeletedWithActor ? [] : [`the column actor_id of ${name} must have REFERENCES actor (id) ON DELETE CASCADE`]),
    ...created.unknown.map((text) => `its table ${name} has a column of an unknown form: ${JSON.stringify(text)}`),
    ...[...named].flatMap((column) =>
      created.columns.includes(column) ? [] : [`its migrations create no column ${column} in ${name}`],
    ),
    ...key.flatMap((column) =>
      records === undefined || members.includes(column)
        ? []
        : [`its records of ${name} lack the column ${column} of the key`],
    ),
  ]
}
