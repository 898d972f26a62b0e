/**
 * Makes a backup while the service runs: first the database as it is at one moment, then the contents of its files. Contents
 * never change, and a hold keeps those that the service deletes meanwhile, so both belong together.
 */
import { ServiceError } from '../errors.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { findIncarnation, markCopy } from '../incarnation/incarnation.ts'
import { copySqliteFile, openStore } from '../open-store.ts'
import { release } from '../release.ts'
import { migratedFeatures, type Migration, readMigrations } from '../store/migrate.ts'
import type { Queries, Store } from '../store/store.ts'
import type { Table, WithTables } from '../table/table.ts'
import {
  backupFormat,
  type BackupFacts,
  BackupFolder,
  databaseFile,
  fileList,
  type ListedObject,
  type BackupPart,
  type BackupTable,
} from './backup-folder.ts'
import { copyContents, type HoldDeps, neededObjects, ObjectHold, removeUnlisted } from './file-contents.ts'
import { rowLines, tablesInOrder, zippedLines } from './table-rows.ts'

export interface BackupDeps extends HoldDeps, WithTables {
  readonly store: Store
  /** The URL of the database. */
  readonly url: string
  readonly bytes: FileBytes
  /** Whether the service has a storage for files. */
  readonly hasFiles: boolean
}

export interface BackupOptions {
  /** The newest complete backup beside this one. Null: none. */
  readonly earlier?: BackupFolder | null
  readonly signal?: AbortSignal
  readonly progress?: (files: number) => void
}

interface CopiedDatabase
  extends Pick<BackupFacts, 'dialect' | 'schema' | 'incarnation' | 'actors' | 'database' | 'tables'> {
  readonly list: BackupPart
}

/**
 * @throws ServiceError `conflict` for a folder that has something else; `unavailable` for a sharded database; `file_missing`
 *   when the service has files and no storage; `insufficient_storage`, `store_unavailable`.
 */
export async function makeBackup(deps: BackupDeps, path: string, options: BackupOptions = {}): Promise<BackupFacts> {
  const { store, now } = deps
  const { earlier = null, signal, progress = () => {} } = options
  if (store.isSharded)
    throw new ServiceError(
      'unavailable',
      'Cannot make a backup of a sharded database: each of its servers needs its own backup, which docs/scaling.md describes',
    )
  const folder = new BackupFolder(path)
  const incarnation = (await store.read(findIncarnation))?.id ?? 'none'
  await folder.begin(incarnation)
  const hold = await ObjectHold.begin(deps)
  try {
    const copiedAt = now()
    const { list, ...database } = await (store.dialect === 'sqlite'
      ? copySqlite(deps, folder, copiedAt)
      : copyPostgres(deps, folder))
    if (!deps.hasFiles && list.bytes > 0)
      throw new ServiceError(
        'file_missing',
        'Cannot make a backup: the database has files, and TROUPE_FILES names no storage',
      )
    const check = (): void => {
      signal?.throwIfAborted()
      hold.check()
    }
    const { count, bytes, missing } = await copyContents({ bytes: deps.bytes, folder, earlier, check, progress })
    check()
    await removeUnlisted(folder)
    const facts: BackupFacts = {
      format: backupFormat,
      release,
      ...database,
      copied_at: new Date(copiedAt).toISOString(),
      files: { list, count, bytes, missing },
    }
    await folder.complete(facts)
    return facts
  } finally {
    hold.end()
  }
}

async function copySqlite(
  { url, tables }: BackupDeps,
  folder: BackupFolder,
  copiedAt: number,
): Promise<CopiedDatabase> {
  const path = folder.pathOf(databaseFile)
  await copySqliteFile(url, path)
  // Closing the copy leaves one file without a log.
  const copy = await openStore({ url: `sqlite:${path}`, mustExist: true })
  try {
    await copy.write((tx) => markCopy(tx, copiedAt))
    const facts = await copy.snapshot((q) => describe(q, folder, tables))
    await copy.close()
    return { dialect: 'sqlite', ...facts, database: await folder.partOf(databaseFile), tables: [] }
  } finally {
    await copy.close()
  }
}

/** One snapshot of the server, so that all tables are of the same moment. */
function copyPostgres(
  { store, tables: ofFeatures, featureMigrations = [] }: BackupDeps,
  folder: BackupFolder,
): Promise<CopiedDatabase> {
  return store.snapshot(async (q) => {
    const tables: BackupTable[] = []
    for (const table of await tablesInOrder([...readMigrations(), ...featureMigrations])) {
      let rows = 0
      const lines = zippedLines(rowLines(q, table), (more) => (rows += more))
      const part = await folder.put(`tables/${table.name}.jsonl.gz`, lines)
      tables.push({ ...part, table: table.name, columns: table.columns, rows })
    }
    return { dialect: 'postgres', ...(await describe(q, folder, ofFeatures)), database: null, tables }
  })
}

async function describe(
  q: Queries,
  folder: BackupFolder,
  tables: readonly Table[],
): Promise<Pick<CopiedDatabase, 'schema' | 'incarnation' | 'actors' | 'list'>> {
  const { actors = 0 } = (await q.get<{ actors: number }>('SELECT count(*) AS actors FROM actor')) ?? {}
  const schema = await q.all<Pick<Migration, 'number'> & { readonly checksum: string }>(
    'SELECT number, checksum FROM schema_migrations ORDER BY number',
  )
  const incarnation = (await findIncarnation(q))?.id ?? 'none'
  const ofFeatures = await migratedFeatures(q)
  return {
    schema: [...schema, ...ofFeatures],
    incarnation,
    actors,
    list: await folder.put(fileList, listText(neededObjects(q, tables))),
  }
}

async function* listText(objects: AsyncIterable<ListedObject>): AsyncGenerator<Uint8Array, void> {
  let text = ''
  for await (const one of objects) {
    text += `${JSON.stringify(one)}\n`
    if (text.length < 65_536) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}
