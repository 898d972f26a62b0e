/** Migrates a database to the schema of this release: numbered scripts, each run once in its own transaction. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { codeFolder, release } from '../release.ts'
import { compile, type Dialect } from './portable.ts'
import { NotCreatedError, StoreStartError } from './start-error.ts'
import type { Migration, Param, Queries, Store } from './store.ts'

export type { Migration } from './store.ts'

/** The operations of a database that migrations use. */
export interface MigrationTarget {
  readonly dialect: Dialect
  /** Runs `step` in a transaction while no other process migrates. Rolls back when `step` throws or the process is killed. */
  exclusively<T>(step: (statements: MigrationStatements) => Promise<T>): Promise<T>
}

export interface MigrationStatements {
  /** Runs a string of several statements, already translated for the database. */
  script(text: string): Promise<void>
  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]>
  run(sql: string, ...params: Param[]): Promise<number>
}

interface AppliedRow {
  readonly number: number
  readonly name: string
  readonly checksum: string
  /** The release that applied the script. Missing in databases from before the freeze of the first script. */
  readonly release?: string
}

const TABLE = `CREATE TABLE IF NOT EXISTS schema_migrations (
  number BIGINT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at BIGINT NOT NULL,
  release TEXT NOT NULL
) STRICT, WITHOUT ROWID`

const HAS_TABLE = `SELECT 1 AS found FROM
  /*sqlite: sqlite_schema WHERE name = 'schema_migrations' */
  /*postgres: pg_class WHERE oid = to_regclass('schema_migrations') */`

/** Reads the scripts of this release, `migrations/NNNN-name.sql`, in order. */
export function readMigrations(folder = new URL('store/migrations/', codeFolder)): Migration[] {
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const parts = /^(\d{4})-(.+)\.sql$/.exec(file)
      if (parts === null) return []
      const sql = readFileSync(new URL(file, folder), 'utf8').replaceAll('\r\n', '\n')
      return [{ number: Number(parts[1]), name: parts[2] ?? '', sql }]
    })
}

/**
 * Applies the missing scripts: those of the service, then those of features. Each step checks the applied scripts again under
 * the lock. So processes that start together, and a start after a killed one, reach the same schema.
 *
 * @throws StoreStartError when a newer release or a version before 0.2.0 created the database, or other scripts migrated it.
 */
export async function migrate(migrations: readonly Migration[], target: MigrationTarget): Promise<void> {
  let remaining = true
  while (remaining) {
    remaining = await target.exclusively(async (statements) => {
      const next = await nextIn(migrations, statements, target)
      if (next === null) return false
      await statements.script(compile(next.sql, target.dialect).text)
      const row = [next.number, next.name, migrationChecksum(next), Date.now(), release]
      await (next.feature === undefined
        ? statements.run(
            'INSERT INTO schema_migrations (number, name, checksum, applied_at, release) VALUES ($1, $2, $3, $4, $5)',
            ...row,
          )
        : statements.run(
            'INSERT INTO feature_migration (number, name, checksum, applied_at, release, feature) VALUES ($1, $2, $3, $4, $5, $6)',
            ...row,
            next.feature,
          ))
      return true
    })
  }
}

/** Checks that no script is missing. @throws NotCreatedError when one is, and StoreStartError like `migrate`. */
export async function requireMigrated(migrations: readonly Migration[], target: MigrationTarget): Promise<void> {
  await target.exclusively(async (statements) => {
    const next = await nextIn(migrations, statements, target)
    if (next === null) return
    if (next.feature !== undefined)
      throw new NotCreatedError(
        `The database lacks schema ${next.number} of the feature ${next.feature}; a start migrates it.`,
      )
    const has = (await appliedIn(statements, target)).at(-1)?.number
    const needs = ofService(migrations).at(-1)?.number
    throw new NotCreatedError(
      has === undefined
        ? 'The database contains no tables of this service yet; a start creates them.'
        : `The database has schema ${has} and this release needs schema ${needs}; a start migrates it.`,
    )
  })
}

function ofService(migrations: readonly Migration[]): readonly Migration[] {
  return migrations.filter(({ feature }) => feature === undefined)
}

/** Returns the next script to apply, or null when none is missing. @throws StoreStartError */
async function nextIn(
  migrations: readonly Migration[],
  statements: MigrationStatements,
  target: MigrationTarget,
): Promise<Migration | null> {
  const next = judge(ofService(migrations), await appliedIn(statements, target))
  const ofFeatures = migrations.filter(({ feature }) => feature !== undefined)
  // The table of their rows exists after the scripts of the service.
  if (next !== null || ofFeatures.length === 0) return next
  const applied = await statements.all<AppliedRow & { readonly feature: string }>(
    'SELECT * FROM feature_migration ORDER BY feature, number',
  )
  for (const name of new Set(ofFeatures.map(({ feature = '' }) => feature))) {
    const isOfFeature = ({ feature }: { readonly feature?: string }): boolean => feature === name
    const missing = judgeFeature(name, ofFeatures.filter(isOfFeature), applied.filter(isOfFeature))
    if (missing !== null) return missing
  }
  return null
}

async function appliedIn(statements: MigrationStatements, target: MigrationTarget): Promise<AppliedRow[]> {
  // PostgreSQL demands the privilege to create tables also where the table exists.
  if ((await statements.all(HAS_TABLE)).length === 0) await statements.script(compile(TABLE, target.dialect).text)
  return statements.all<AppliedRow>('SELECT * FROM schema_migrations ORDER BY number')
}

/** Returns the next script to apply, or null when none is missing. */
function judge(migrations: readonly Migration[], applied: readonly AppliedRow[]): Migration | null {
  const initial = migrations.find(({ number }) => number === 1)
  const made = applied.find(({ number }) => number === 1)
  if (made !== undefined && initial !== undefined && made.checksum !== migrationChecksum(initial))
    throw new StoreStartError(
      'Cannot use the database: a version of Troupe before 0.2.0 created it, with tables that no release upgrades; nothing was changed. Export its actors with that version and import them into a new database.',
    )
  const newest = applied.at(-1)
  const known = migrations.at(-1)?.number ?? 0
  if (newest !== undefined && newest.number > known)
    throw new StoreStartError(
      `Cannot use the database: release ${newest.release} migrated it to schema ${newest.number} ("${newest.name}"), and this release, ${release}, knows schemas up to ${known}; nothing was changed. Start release ${newest.release} or a newer one.`,
    )
  return firstMissing(migrations, applied, 'the one in this release')
}

function judgeFeature(
  feature: string,
  migrations: readonly Migration[],
  applied: readonly AppliedRow[],
): Migration | null {
  const newest = applied.at(-1)
  const known = migrations.at(-1)?.number ?? 0
  if (newest !== undefined && newest.number > known)
    throw new StoreStartError(
      `Cannot use the database: a newer version of the application migrated the feature ${feature} to schema ${newest.number} ("${newest.name}"), and this version knows its schemas up to ${known}; nothing was changed. Start the newer version.`,
    )
  return firstMissing(migrations, applied, `the one that the feature ${feature} has`)
}

/** @param counterpart The script of which an applied one is a copy. */
function firstMissing(
  migrations: readonly Migration[],
  applied: readonly AppliedRow[],
  counterpart: string,
): Migration | null {
  for (const row of applied) {
    const migration = migrations.find((candidate) => candidate.number === row.number)
    if (migration === undefined || migrationChecksum(migration) !== row.checksum)
      throw new StoreStartError(
        `Cannot use the database: its migration ${row.number} ("${row.name}") differs from ${counterpart}; nothing was changed.`,
      )
  }
  const done = new Set(applied.map((row) => row.number))
  return migrations.find((migration) => !done.has(migration.number)) ?? null
}

/** A feature whose scripts a database has run. */
export interface MigratedFeature {
  readonly feature: string
  readonly number: number
  readonly checksum: string
}

/** The scripts of features that the database has run. */
export function migratedFeatures(q: Queries): Promise<MigratedFeature[]> {
  return q.all('SELECT feature, number, checksum FROM feature_migration ORDER BY feature, number')
}

/** The names of features whose scripts the database has run and none of these is. */
export async function unknownFeatures(store: Pick<Store, 'read'>, known: readonly Migration[]): Promise<string[]> {
  const names = new Set((await store.read(migratedFeatures)).map(({ feature }) => feature))
  for (const { feature } of known) names.delete(feature ?? '')
  return [...names]
}

/** Finds the script that a database has run. */
export function findMigration(
  known: readonly Migration[],
  { feature, number, checksum }: Omit<MigratedFeature, 'feature'> & { readonly feature?: string },
): Migration | undefined {
  return known.find((one) => one.feature === feature && one.number === number && migrationChecksum(one) === checksum)
}

export function migrationChecksum(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex')
}
