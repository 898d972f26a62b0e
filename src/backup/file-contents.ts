/** Copies the contents of files between their storage and a backup. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, mkdir, readdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ServiceError } from '../errors.ts'
import { codeOf, usable, writeWholeFile } from '../object/disk.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { holdObjects } from '../object/object-store.ts'
import type { Queries, Store } from '../store/store.ts'
import { contentKindsOf, type Table } from '../table/table.ts'
import { type Cancel, systemTimers, type Timers } from '../timers.ts'
import { type BackupFolder, damaged, digestOrNull, type ListedObject } from './backup-folder.ts'

/** A killed backup keeps unused objects for so long. */
const holdMs = 120_000
const renewMs = 30_000
/** Objects that are copied at the same time. */
const atOnce = 4
const pageRows = 1000

export interface HoldDeps {
  readonly store: Store
  readonly now: () => number
  readonly timers?: Timers
}

/** Keeps all objects until `end`, so that those of a database that was copied stay in the storage. */
export class ObjectHold {
  readonly #deps: HoldDeps
  #until = 0
  #cancel: Cancel = () => {}
  #isOver = false
  #failure: Error | undefined

  private constructor(deps: HoldDeps) {
    this.#deps = deps
  }

  static async begin(deps: HoldDeps): Promise<ObjectHold> {
    const hold = new ObjectHold(deps)
    await hold.#renew()
    hold.#again()
    return hold
  }

  /** @throws ServiceError `unavailable` when objects may have been deleted meanwhile. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#deps.now() >= this.#until) throw lapsed()
  }

  end(): void {
    this.#isOver = true
    this.#cancel()
  }

  async #renew(): Promise<void> {
    const { store, now } = this.#deps
    const isFirst = this.#until === 0
    const until = now() + holdMs
    await store.write((tx) => holdObjects(tx, until))
    // The machine may have slept.
    if (!isFirst && now() >= this.#until) throw lapsed()
    this.#until = until
  }

  #again(): void {
    this.#cancel = (this.#deps.timers ?? systemTimers).setTimer(renewMs, () => {
      this.#renew()
        .catch((error: unknown) => {
          // Until the end of the hold, the next renewal may succeed.
          const isTemporary = error instanceof ServiceError && this.#deps.now() < this.#until
          if (!isTemporary) this.#failure = error instanceof Error ? error : new Error(String(error))
        })
        .finally(() => {
          if (!this.#isOver) this.#again()
        })
    })
  }
}

function lapsed(): ServiceError {
  return new ServiceError('unavailable', 'Cannot complete the backup: it was interrupted for too long. Make it again')
}

/** Yields the objects that the rows with content and the running imports of the database need. */
export async function* neededObjects(q: Queries, tables: readonly Table[]): AsyncGenerator<ListedObject, void> {
  for (const { table } of contentKindsOf(tables)) yield* objectsOf(q, table)
  for (const { data } of await q.all<{ data: string }>(`/* backup */ SELECT data FROM job WHERE kind = 'import'`)) {
    const { object, state } = JSON.parse(data) as { readonly object: string; readonly state: string }
    if (state === 'running') yield { object, size: null, sha256: null }
  }
}

async function* objectsOf(q: Queries, table: string): AsyncGenerator<ListedObject, void> {
  let after: { readonly actor_id: string; readonly name: string } | undefined
  do {
    const rows: FileRow[] = await q.all<FileRow>(
      `/* backup */ SELECT actor_id, name, object, size, hash FROM ${table}
       WHERE (actor_id, name) > ($1, $2) ORDER BY actor_id, name LIMIT ${pageRows}`,
      after?.actor_id ?? '',
      after?.name ?? '',
    )
    for (const { object, size, hash } of rows) yield { object, size, sha256: hash }
    after = rows.at(-1)
  } while (after !== undefined)
}

interface FileRow {
  readonly actor_id: string
  readonly name: string
  readonly object: string
  readonly size: number
  readonly hash: string
}

export interface CopiedObjects {
  count: number
  bytes: number
  /** The objects that the storage does not have, or only damaged. */
  readonly missing: string[]
}

export interface ContentsCopy {
  readonly bytes: FileBytes
  readonly folder: BackupFolder
  /** An earlier backup. An object that it has too is a further name of the same file, and takes no space. */
  readonly earlier: BackupFolder | null
  /** Called before each object. It throws to stop. */
  readonly check: () => void
  readonly progress: (done: number) => void
}

/** Copies every listed object that the backup does not have, reads each again, and compares it with its digest. */
export async function copyContents(copy: ContentsCopy): Promise<CopiedObjects> {
  const { folder, check, progress } = copy
  const copied: CopiedObjects = { count: 0, bytes: 0, missing: [] }
  await inParallel(folder.objects(), async (listed) => {
    check()
    const size = await copyObject(copy, listed)
    if (size === null) copied.missing.push(listed.object)
    else {
      copied.count += 1
      copied.bytes += size
    }
    progress(copied.count)
  })
  return copied
}

/** Returns the size. Null: the storage does not have the object. */
async function copyObject({ bytes, folder, earlier }: ContentsCopy, listed: ListedObject): Promise<number | null> {
  const path = folder.pathOfObject(listed.object)
  const kept = await sizeOfIntact(path, listed)
  if (kept !== null) return kept
  await rm(path, { force: true })
  if (earlier !== null && (await linked(earlier.pathOfObject(listed.object), path))) {
    const shared = await sizeOfIntact(path, listed)
    if (shared !== null) return shared
    await rm(path, { force: true })
  }
  const opened = await bytes.open(listed.object, null)
  if (opened === null) return null
  await writeWholeFile(path, opened.bytes, { what: 'store the backup', root: folder.path })
  const size = await sizeOfIntact(path, listed)
  if (size === null) await rm(path, { force: true })
  return size
}

/** Null: the file does not exist, or has other bytes. */
async function sizeOfIntact(path: string, { size, sha256 }: ListedObject): Promise<number | null> {
  const found = await usable('read the backup', () => digestOrNull(path))
  if (found === null || (size !== null && found.bytes !== size)) return null
  return sha256 === null || found.sha256 === sha256 ? found.bytes : null
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    await link(from, to)
    return true
  } catch {
    // Some file systems have no links, and the earlier backup may lack the object.
    return false
  }
}

/** Deletes what an interrupted attempt copied and the database no longer needs. */
export async function removeUnlisted(folder: BackupFolder): Promise<void> {
  const listed = new Set<string>()
  for await (const { object } of folder.objects()) listed.add(object)
  for (const begin of await namesIn(folder.pathOf('files')))
    for (const name of await namesIn(folder.pathOf(`files/${begin}`)))
      if (!listed.has(name)) await rm(folder.pathOf(`files/${begin}/${name}`), { force: true })
}

async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Returns the objects of a backup that are missing or damaged. */
export async function damagedContents(folder: BackupFolder, progress: (done: number) => void): Promise<string[]> {
  const found: string[] = []
  let done = 0
  await inParallel(folder.objects(), async (listed) => {
    if ((await sizeOfIntact(folder.pathOfObject(listed.object), listed)) === null) found.push(listed.object)
    progress((done += 1))
  })
  return found
}

/** Stores the contents of a backup in the storage for files. Objects that it has already stay. */
export async function restoreContents(
  folder: BackupFolder,
  bytes: FileBytes,
  { missing, progress }: { readonly missing: ReadonlySet<string>; readonly progress: (done: number) => void },
): Promise<number> {
  let done = 0
  await inParallel(folder.objects(), async (listed) => {
    if (missing.has(listed.object)) return
    await restoreObject(folder, bytes, listed)
    progress((done += 1))
  })
  return done
}

async function restoreObject(folder: BackupFolder, bytes: FileBytes, listed: ListedObject): Promise<void> {
  const path = folder.pathOfObject(listed.object)
  const found = await usable('read the backup', () => digestOrNull(path))
  if (found === null) throw damaged(folder.path, `the file ${listed.object} is missing`)
  if (listed.sha256 !== null && found.sha256 !== listed.sha256)
    throw damaged(folder.path, `the file ${listed.object} was changed or is damaged`)
  const there = await bytes.open(listed.object, null)
  if (there !== null) {
    if ((await digestOfBytes(there.bytes)) === found.sha256) return
    // An interrupted restore may have left a part.
    await bytes.delete(listed.object)
  }
  await bytes.put(listed.object, createReadStream(path))
}

async function digestOfBytes(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) hash.update(chunk)
  return hash.digest('hex')
}

async function inParallel<T>(items: AsyncGenerator<T, void>, work: (item: T) => Promise<void>): Promise<void> {
  const lane = async (): Promise<void> => {
    try {
      for (let next = await items.next(); next.done !== true; next = await items.next()) await work(next.value)
    } finally {
      // After a failure, the other lanes find no further item.
      await items.return()
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, lane))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}
