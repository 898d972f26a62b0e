/**
 * The folder of a backup: the database, the contents of files, and `backup.json`, which is written last. A folder without
 * `backup.json` is unfinished, and the next attempt continues it.
 */
import { createHash } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { chmod, mkdir, opendir, readdir, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { quoted, ServiceError } from '../errors.ts'
import { isObjectKey } from '../object/file-bytes.ts'
import { codeOf, usable, writeWholeFile } from '../object/disk.ts'
import { isRecord } from '../json/is-record.ts'

/** The version of the format. */
export const backupFormat = 1
export const backupFactsFile = 'backup.json'
const unfinishedFile = 'unfinished.json'
export const databaseFile = 'database.db'
export const fileList = 'files.jsonl'

/** A file of the backup. */
export interface BackupPart {
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/** The rows of a table, as JSON Lines that are compressed with gzip. */
export interface BackupTable extends BackupPart {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: number
}

/** The content of `backup.json`. */
export interface BackupFacts {
  readonly format: number
  readonly release: string
  readonly dialect: 'sqlite' | 'postgres'
  /** The migrations of the database. */
  readonly schema: readonly { readonly number: number; readonly checksum: string; readonly feature?: string }[]
  /** The incarnation of which the backup is a copy. */
  readonly incarnation: string
  /** The time of the copy, in ISO 8601. */
  readonly copied_at: string
  readonly actors: number
  /** For SQLite: the database file. */
  readonly database: BackupPart | null
  /** For PostgreSQL: the tables, each after those that it refers to. */
  readonly tables: readonly BackupTable[]
  readonly files: {
    readonly list: BackupPart
    readonly count: number
    readonly bytes: number
    /** The objects that the storage did not have, or only damaged. */
    readonly missing: readonly string[]
  }
}

/** A line of the list of files. */
export interface ListedObject {
  readonly object: string
  /** Null for the archive of a running import, whose size and digest the database does not have. */
  readonly size: number | null
  readonly sha256: string | null
}

export class BackupFolder {
  readonly path: string

  constructor(path: string) {
    this.path = resolve(path)
  }

  pathOf(file: string): string {
    return join(this.path, file)
  }

  pathOfObject(object: string): string {
    return join(this.path, 'files', object.slice(0, 2), object)
  }

  /**
   * Creates the folder, or continues an unfinished one of the same incarnation.
   *
   * @throws ServiceError `conflict` for a folder with anything else.
   */
  async begin(incarnation: string): Promise<void> {
    const names = await this.#names()
    if (names.includes(backupFactsFile)) throw refused(this.path, 'it has a complete backup already')
    if (names.length > 0 && !names.includes(unfinishedFile)) throw refused(this.path, 'it is not empty')
    if (names.length > 0 && (await this.#incarnation()) !== incarnation)
      throw refused(this.path, 'it has the unfinished backup of another database')
    await usable('store the backup', async () => {
      await mkdir(this.path, { recursive: true, mode: 0o700 })
      await chmod(this.path, 0o700)
    })
    await this.put(unfinishedFile, [Buffer.from(`${JSON.stringify({ incarnation })}\n`)])
  }

  async complete(facts: BackupFacts): Promise<void> {
    await this.put(backupFactsFile, [Buffer.from(`${JSON.stringify(facts, null, 2)}\n`)])
    await rm(this.pathOf(unfinishedFile), { force: true })
  }

  /** Writes a file durably, reads it again, and compares. */
  async put(file: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<BackupPart> {
    const hash = createHash('sha256')
    let bytes = 0
    async function* counted(): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of chunks) {
        hash.update(chunk)
        bytes += chunk.length
        yield chunk
      }
    }
    await writeWholeFile(this.pathOf(file), counted(), { what: 'store the backup', root: this.path })
    const part = { file, bytes, sha256: hash.digest('hex') }
    await this.verify(part)
    return part
  }

  /** Reads a file that another program wrote. */
  async partOf(file: string): Promise<BackupPart> {
    return { file, ...(await digestOfFile(this.pathOf(file))) }
  }

  /** @throws ServiceError `invalid_value` when a file is missing or has other bytes. */
  async verify({ file, bytes, sha256 }: BackupPart): Promise<void> {
    const found = await usable('read the backup', () => digestOrNull(this.pathOf(file)))
    if (found === null) throw damaged(this.path, `${file} is missing`)
    if (found.bytes !== bytes || found.sha256 !== sha256) throw damaged(this.path, `${file} was changed or is damaged`)
  }

  /** @throws ServiceError `invalid_value` for a folder without a complete backup of a known format, or with a link. */
  async facts(): Promise<BackupFacts> {
    await this.#requirePlain(this.path)
    let text: string
    try {
      text = await readFile(this.pathOf(backupFactsFile), 'utf8')
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error
      const isUnfinished = (await this.#names()).includes(unfinishedFile)
      throw damaged(this.path, isUnfinished ? 'it is not complete; make it again' : `it has no ${backupFactsFile}`)
    }
    return readFacts(this.path, text)
  }

  /** Yields the lines of the list of files. */
  async *objects(): AsyncGenerator<ListedObject, void> {
    for await (const line of linesIn(this.pathOf(fileList))) {
      const listed = JSON.parse(line) as ListedObject
      if (!isObjectKey(listed.object)) throw damaged(this.path, `${fileList} was changed or is damaged`)
      yield listed
    }
  }

  /** Yields the lines of a table. */
  rowsOf({ file }: BackupTable): AsyncIterable<string> {
    return linesOf(pipeline(createReadStream(this.pathOf(file)), createGunzip(), () => {}))
  }

  /**
   * A link would bring a file of this machine into the storage for files, where an actor of the backup reads it. Reading a pipe
   * would not end.
   */
  async #requirePlain(folder: string): Promise<void> {
    for await (const entry of await openedOrEmpty(folder)) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) await this.#requirePlain(path)
      else if (!entry.isFile())
        throw damaged(this.path, `${quoted(path.slice(this.path.length + 1))} is neither a file nor a folder`)
    }
  }

  async #incarnation(): Promise<unknown> {
    try {
      const facts: unknown = JSON.parse(await readFile(this.pathOf(unfinishedFile), 'utf8'))
      return typeof facts === 'object' && facts !== null && 'incarnation' in facts ? facts.incarnation : null
    } catch {
      return null
    }
  }

  async #names(): Promise<readonly string[]> {
    try {
      return await readdir(this.path)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []
      if (codeOf(error) === 'ENOTDIR') throw refused(this.path, 'it is not a folder')
      throw error
    }
  }
}

async function openedOrEmpty(folder: string): Promise<AsyncIterable<Dirent>> {
  try {
    return await opendir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return Readable.from([])
    throw error
  }
}

export function damaged(path: string, why: string): ServiceError {
  return new ServiceError('invalid_value', `Cannot use the backup ${quoted(path)}: ${why}`)
}

function refused(path: string, why: string): ServiceError {
  return new ServiceError('conflict', `Cannot make a backup in ${quoted(path)}: ${why}`)
}

async function digestOfFile(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1_048_576 }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** Null: the file does not exist. */
export async function digestOrNull(path: string): Promise<Awaited<ReturnType<typeof digestOfFile>> | null> {
  try {
    return await digestOfFile(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

function linesIn(path: string): AsyncIterable<string> {
  return linesOf(createReadStream(path))
}

async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<string, void> {
  let failure: Error | undefined
  stream.on('error', (error: Error) => {
    failure = error
  })
  for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }))
    if (line !== '') yield line
  if (failure !== undefined) throw failure
}

function readFacts(path: string, text: string): BackupFacts {
  let facts: unknown
  try {
    facts = JSON.parse(text)
  } catch {
    throw damaged(path, `${backupFactsFile} is not JSON`)
  }
  if (!isFacts(facts)) throw damaged(path, `${backupFactsFile} was changed or is damaged`)
  if (facts.format > backupFormat)
    throw damaged(path, `it has format ${facts.format}, and this release reads formats up to ${backupFormat}`)
  return facts
}

function isFacts(facts: unknown): facts is BackupFacts {
  if (typeof facts !== 'object' || facts === null) return false
  const { dialect, database, tables, files } = facts as Partial<BackupFacts>
  if (!hasOrigin(facts) || !isOfSchema(facts)) return false
  if (!Array.isArray(tables) || !tables.every(isTable)) return false
  if (!isPart(files?.list) || !Array.isArray(files.missing) || !Number.isInteger(files.count)) return false
  return dialect === 'sqlite' ? isPart(database) : tables.length > 0
}

function isOfSchema({ format, dialect, schema }: Partial<BackupFacts>): boolean {
  if (!Number.isInteger(format) || Number(format) < 1) return false
  if (dialect !== 'sqlite' && dialect !== 'postgres') return false
  return Array.isArray(schema) && schema.every((one) => isRecord(one))
}

/** Whether the facts say which release copied which data, and when. */
function hasOrigin({ release, incarnation, copied_at: copiedAt }: Partial<BackupFacts>): boolean {
  const texts: readonly unknown[] = [release, incarnation, copiedAt]
  return texts.every((text) => typeof text === 'string') && !Number.isNaN(Date.parse(copiedAt ?? ''))
}

function isPart(part: unknown): part is BackupPart {
  if (typeof part !== 'object' || part === null) return false
  const { file, bytes, sha256 } = part as Partial<BackupPart>
  // The name must not lead out of the folder.
  return (
    /^[a-z_]+(?:\/[a-z_]+)?(?:\.[a-z]+)+$/.test(file ?? '') && Number.isInteger(bytes) && typeof sha256 === 'string'
  )
}

function isTable(part: unknown): boolean {
  if (!isPart(part)) return false
  const { table, columns, rows } = part as Partial<BackupTable>
  return typeof table === 'string' && Array.isArray(columns) && Number.isInteger(rows)
}
