/**
 * Makes a backup while the service runs: first the database as it is at one moment, then the contents of its files. Contents
 * never change, and a hold keeps those that the service deletes meanwhile, so both belong together.
 */
import { ServiceError } from '../errors.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { findIncarnation, markCopy } from '../incarnation/incarnation.ts'
import { copySqliteFile, openStore } from '../open-store.ts'
import { release } from '../release.ts'
import { findMigration, migratedFeatures, type Migration, readMigrations } from '../store/migrate.ts'
import type { Queries, Store } from '../store/store.ts'
import type { WithTables } from '../table/table.ts'
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
  readonly progress?: (files: number, total: number) => void
}

interface CopiedDatabase
  extends Pick<BackupFacts, 'dialect' | 'schema' | 'incarnation' | 'actors' | 'database' | 'tables'> {
  readonly list: BackupPart
  /** The number of files in the list. */
  readonly listed: number
}

/**
 * @throws ServiceError `conflict` for a folder that has something else, or a database with unknown tables; `unavailable` for a
 *   sharded database; `file_missing` when the service has files and no storage; `insufficient_storage`, `store_unavailable`.
 */
export async function makeBackup(deps: BackupDeps, path: string, options: BackupOptions = {}): Promise<BackupFacts> {
  const { store, now } = deps
  const { earlier = null, signal, progress = () => {} } = options
  if (store.isSharded)
    throw new ServiceError(
      'unavailable',
      'Cannot make a backup of a sharded database: each of its servers needs its own backup, which docs/scaling.md describes',
    )
  // Copying takes long, so the refusal comes before it.
  await store.read((q) => schemaOf(q, deps))
  const folder = new BackupFolder(path)
  const incarnation = (await store.read(findIncarnation))?.id ?? 'none'
  await folder.begin(incarnation)
  const hold = await ObjectHold.begin(deps)
  try {
    const copiedAt = now()
    const { list, listed, ...database } = await (store.dialect === 'sqlite'
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
    const { count, bytes, missing } = await copyContents({
      bytes: deps.bytes,
      folder,
      earlier,
      check,
      progress: (done) => progress(done, listed),
    })
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

async function copySqlite(deps: BackupDeps, folder: BackupFolder, copiedAt: number): Promise<CopiedDatabase> {
  const path = folder.pathOf(databaseFile)
  await copySqliteFile(deps.url, path)
  // Closing the copy leaves one file without a log.
  const copy = await openStore({ url: `sqlite:${path}`, mustExist: true })
  try {
    await copy.write((tx) => markCopy(tx, copiedAt))
    const facts = await copy.snapshot((q) => describe(q, folder, deps))
    await copy.close()
    return { dialect: 'sqlite', ...facts, database: await folder.partOf(databaseFile), tables: [] }
  } finally {
    await copy.close()
  }
}

/** One snapshot of the server, so that all tables are of the same moment. */
function copyPostgres(deps: BackupDeps, folder: BackupFolder): Promise<CopiedDatabase> {
  return deps.store.snapshot(async (q) => {
    const tables: BackupTable[] = []
    for (const table of await tablesInOrder(knownMigrations(deps))) {
      let rows = 0
      const lines = zippedLines(rowLines(q, table), (more) => (rows += more))
      const part = await folder.put(`tables/${table.name}.jsonl.gz`, lines)
      tables.push({ ...part, table: table.name, columns: table.columns, rows })
    }
    return { dialect: 'postgres', ...(await describe(q, folder, deps)), database: null, tables }
  })
}

async function describe(
  q: Queries,
  folder: BackupFolder,
  deps: BackupDeps,
): Promise<Pick<CopiedDatabase, 'schema' | 'incarnation' | 'actors' | 'list' | 'listed'>> {
  const { actors = 0 } = (await q.get<{ actors: number }>('SELECT count(*) AS actors FROM actor')) ?? {}
  const schema = await schemaOf(q, deps)
  const incarnation = (await findIncarnation(q))?.id ?? 'none'
  let listed = 0
  const list = await folder.put(
    fileList,
    listText(neededObjects(q, deps.tables), () => (listed += 1)),
  )
  return { schema, incarnation, actors, list, listed }
}

function knownMigrations({ featureMigrations = [] }: BackupDeps): readonly Migration[] {
  return [...readMigrations(), ...featureMigrations]
}

/**
 * The scripts that the database has run.
 *
 * @throws ServiceError `conflict` for one that is unknown here. The backup would list it, and lack its tables.
 */
async function schemaOf(q: Queries, deps: BackupDeps): Promise<BackupFacts['schema']> {
  const ofService = await q.all<BackupFacts['schema'][number]>(
    'SELECT number, checksum FROM schema_migrations ORDER BY number',
  )
  const schema = [...ofService, ...(await migratedFeatures(q))]
  const known = knownMigrations(deps)
  const unknown = schema.find((one) => findMigration(known, one) === undefined)
  if (unknown === undefined) return schema
  const { number, feature } = unknown
  throw new ServiceError(
    'conflict',
    `Cannot make a backup: it would lack tables of the database, which has schema ${number} of ${feature === undefined ? 'another release. Start that release' : `the feature ${feature}, which this application does not have. Add the feature`}`,
  )
}

async function* listText(objects: AsyncIterable<ListedObject>, onObject: () => void): AsyncGenerator<Uint8Array, void> {
  let text = ''
  for await (const one of objects) {
    onObject()
    text += `${JSON.stringify(one)}\n`
    if (text.length < 65_536) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}
