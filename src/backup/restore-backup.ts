/**
 * Restores a backup into a new database. The contents of files come first, so that a database that exists is complete. Each
 * step can be repeated: an interrupted restore continues with the next one.
 */
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { quoted, ServiceError } from '../errors.ts'
import { syncFolders, usable, writeWholeFile } from '../object/disk.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { markCopy, restoreSetting } from '../incarnation/incarnation.ts'
import {
  damageOfSqliteFile,
  openStore,
  sqlitePath,
  type StoreOptions,
  strangeObjectOfSqliteFile,
  tablesOf,
} from '../open-store.ts'
import { findMigration, type Migration, readMigrations } from '../store/migrate.ts'
import type { Store, Transaction } from '../store/store.ts'
import { type BackupFacts, BackupFolder, damaged, databaseFile, type BackupTable } from './backup-folder.ts'
import { damagedContents, restoreContents } from './file-contents.ts'
import { insertLines, tablesInOrder } from './table-rows.ts'

export interface RestoreTarget extends Pick<StoreOptions, 'url' | 'schema'> {
  readonly bytes: FileBytes
  readonly hasFiles: boolean
  /** The migrations of features that the application adds. */
  readonly featureMigrations?: readonly Migration[]
  /** Tests wrap the store of PostgreSQL. Default: `openStore`. */
  readonly open?: typeof openStore
}

export interface RestoredBackup {
  readonly facts: BackupFacts
  readonly files: number
}

/**
 * Checks a backup completely. Returns the objects that are missing or damaged, besides those that it lacked from the beginning.
 *
 * @throws ServiceError `invalid_value` when the database of the backup is missing or damaged.
 */
export async function verifyBackup(
  path: string,
  progress: (files: number, total: number) => void = () => {},
): Promise<{ readonly facts: BackupFacts; readonly damagedFiles: readonly string[] }> {
  const folder = new BackupFolder(path)
  const facts = await folder.facts()
  await verifyDatabase(folder, facts)
  const lacking = new Set(facts.files.missing)
  const found = await damagedContents(folder, (done) => progress(done, facts.files.count))
  return { facts, damagedFiles: found.filter((object) => !lacking.has(object)) }
}

async function verifyDatabase(folder: BackupFolder, { database, tables, files }: BackupFacts): Promise<void> {
  for (const part of [files.list, ...tables, ...(database === null ? [] : [database])]) await folder.verify(part)
  const damage = database === null ? null : await damageOfSqliteFile(folder.pathOf(databaseFile))
  if (damage !== null) throw damaged(folder.path, `${databaseFile} is damaged: ${damage}`)
}

/**
 * @throws ServiceError `conflict` when the database exists, `invalid_value` for a backup that is not complete, damaged, of
 *   another kind of database, or of a newer release. Then no database exists.
 */
export async function restoreBackup(
  target: RestoreTarget,
  path: string,
  progress: (files: number, total: number) => void = () => {},
): Promise<RestoredBackup> {
  const folder = new BackupFolder(path)
  const facts = await folder.facts()
  const dialect = target.url.startsWith('sqlite:') ? 'sqlite' : 'postgres'
  if (facts.dialect !== dialect)
    throw damaged(folder.path, `it is of ${nameOf(facts.dialect)}, and DATABASE_URL names ${nameOf(dialect)}`)
  const migrations = migrationsOf(folder, facts, target.featureMigrations)
  if (!target.hasFiles && facts.files.count > 0)
    throw new ServiceError('conflict', 'Cannot restore the backup: it has files, and TROUPE_FILES names no storage')
  if (dialect === 'sqlite') requireNoDatabase(sqlitePath(target.url))
  await verifyDatabase(folder, facts)
  await (dialect === 'sqlite' ? requireOwnSchema(folder, migrations) : requireTables(folder, facts, migrations))
  const restoreFiles = async (): Promise<number> =>
    restoreContents(folder, target.bytes, {
      missing: new Set(facts.files.missing),
      progress: (done) => progress(done, facts.files.count),
    })
  const files = await (dialect === 'sqlite'
    ? restoreSqlite(sqlitePath(target.url), folder, restoreFiles)
    : restorePostgres({ ...target, migrations }, { folder, facts }, restoreFiles))
  return { facts, files }
}

function nameOf(dialect: BackupFacts['dialect']): string {
  return dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL'
}

/** Returns the migrations that the database of the backup had. The next start runs the later ones. */
function migrationsOf(
  folder: BackupFolder,
  { schema, release }: BackupFacts,
  ofFeatures: readonly Migration[] = [],
): readonly Migration[] {
  const known = [...readMigrations(), ...ofFeatures]
  return schema.map((one) => {
    const found = findMigration(known, one)
    if (found !== undefined) return found
    const { number, feature } = one
    throw damaged(
      folder.path,
      feature === undefined
        ? `release ${release} made it, with a schema that this release does not know`
        : `it has schema ${number} of the feature ${feature}, which is unknown here: set TROUPE_APP to the application that has it`,
    )
  })
}

/** A table that the backup lacks would be restored without its rows. */
async function requireTables(
  folder: BackupFolder,
  { tables }: BackupFacts,
  migrations: readonly Migration[],
): Promise<void> {
  const missing = (await tablesInOrder(migrations)).find(({ name }) => !tables.some(({ table }) => table === name))
  if (missing !== undefined) throw damaged(folder.path, `it lacks the table ${quoted(missing.name)} of its schema`)
}

/** A checksum does not say who wrote the file. A trigger in it would run with each change of the restored service. */
async function requireOwnSchema(folder: BackupFolder, migrations: readonly Migration[]): Promise<void> {
  const strange = await strangeObjectOfSqliteFile(folder.pathOf(databaseFile), migrations)
  if (strange !== null)
    throw damaged(
      folder.path,
      `${databaseFile} has ${quoted(strange)} in its schema, which this release does not make so`,
    )
}

function requireNoDatabase(path: string): void {
  for (const ending of ['', '-wal', '-shm'])
    if (existsSync(`${path}${ending}`))
      throw new ServiceError(
        'conflict',
        `Cannot restore the backup: ${quoted(`${path}${ending}`)} exists. Stop the service and move it away, or set another DATABASE_URL`,
      )
}

async function restoreSqlite(path: string, folder: BackupFolder, restoreFiles: () => Promise<number>): Promise<number> {
  const files = await restoreFiles()
  const part = `${path}.restoring`
  await usable('store the database', async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await rm(part, { force: true })
  })
  await writeWholeFile(part, createReadStream(folder.pathOf(databaseFile)), {
    what: 'store the database',
    root: dirname(path),
  })
  requireNoDatabase(path)
  await usable('store the database', async () => {
    await rename(part, path)
    await syncFolders(dirname(path))
  })
  return files
}

interface LoadProgress {
  /** The time of the copy, which names the backup. */
  readonly backup: string
  readonly table: string
  readonly rows: number
}

async function restorePostgres(
  { url, schema, migrations, open = openStore }: RestoreTarget & { readonly migrations: readonly Migration[] },
  { folder, facts }: { readonly folder: BackupFolder; readonly facts: BackupFacts },
  restoreFiles: () => Promise<number>,
): Promise<number> {
  const store = await open({ url, ...(schema === undefined ? {} : { schema }), migrations, workers: 2 })
  try {
    if (store.isSharded)
      throw new ServiceError(
        'unavailable',
        'Cannot restore a backup into a sharded database: docs/scaling.md describes how its servers come back',
      )
    const backup = `${facts.incarnation} ${facts.copied_at}`
    const begun = await beginLoad(store, backup)
    const files = await restoreFiles()
    await loadTables(store, { folder, tables: facts.tables, begun, migrations })
    await store.write(async (tx) => {
      await tx.run('DELETE FROM setting WHERE name = $1', restoreSetting)
      await markCopy(tx, Date.parse(facts.copied_at))
    })
    return files
  } finally {
    await store.close()
  }
}

/** Marks the database as unfinished. Returns how far an earlier attempt came. */
async function beginLoad(store: Store, backup: string): Promise<LoadProgress> {
  return store.write(async (tx) => {
    const found = await tx.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', restoreSetting)
    if (found !== undefined) {
      const progress = JSON.parse(found.value) as LoadProgress
      if (progress.backup === backup) return progress
      throw occupied('it has the unfinished restore of another backup')
    }
    const used = await tx.get('SELECT name FROM setting UNION ALL SELECT id FROM actor LIMIT 1')
    if (used !== undefined) throw occupied('a service has used it')
    const progress: LoadProgress = { backup, table: '', rows: 0 }
    await tx.run('INSERT INTO setting (name, value) VALUES ($1, $2)', restoreSetting, JSON.stringify(progress))
    return progress
  })
}

function occupied(why: string): ServiceError {
  return new ServiceError(
    'conflict',
    `Cannot restore the backup: the database of DATABASE_URL is not empty, because ${why}. Stop the service and drop the schema, or set another database`,
  )
}

const batchRows = 500
const batchCharacters = 1_048_576

async function loadTables(
  store: Store,
  load: {
    readonly folder: BackupFolder
    readonly tables: readonly BackupTable[]
    readonly begun: LoadProgress
    readonly migrations: readonly Migration[]
  },
): Promise<void> {
  const { folder, tables, begun, migrations } = load
  const schema = await tablesOf(migrations)
  let isReached = begun.table === ''
  for (const part of tables) {
    const known = schema.find(({ name }) => name === part.table)
    if (known === undefined || !part.columns.every((column) => known.columns.includes(column)))
      throw damaged(folder.path, `its table ${quoted(part.table)} is not of its schema`)
    const isCurrent = part.table === begun.table
    isReached ||= isCurrent
    if (isReached) await loadTable(store, { folder, part, backup: begun.backup, done: isCurrent ? begun.rows : 0 })
  }
}

async function loadTable(
  store: Store,
  load: { readonly folder: BackupFolder; readonly part: BackupTable; readonly backup: string; readonly done: number },
): Promise<void> {
  const { folder, part, backup, done } = load
  let rows = 0
  let batch: string[] = []
  let characters = 0
  const insert = async (): Promise<void> => {
    const lines = batch
    ;[batch, characters] = [[], 0]
    if (lines.length === 0) return
    await store.write(async (tx) => {
      await insertLines(tx, part, lines)
      // Triggers count the rows of the actors, which come after them.
      if (part.table === 'actor')
        await tx.run('/* restore */ UPDATE actor SET used_bytes = 0, used_names = 0, used_items = 0')
      await putProgress(tx, { backup, table: part.table, rows })
    })
  }
  for await (const line of folder.rowsOf(part)) {
    rows += 1
    if (rows <= done) continue
    batch.push(line)
    characters += line.length
    if (batch.length >= batchRows || characters >= batchCharacters) await insert()
  }
  await insert()
  if (rows !== part.rows) throw damaged(folder.path, `${part.file} has ${rows} rows instead of ${part.rows}`)
}

async function putProgress(tx: Transaction, progress: LoadProgress): Promise<void> {
  await tx.run('UPDATE setting SET value = $2 WHERE name = $1', restoreSetting, JSON.stringify(progress))
}
