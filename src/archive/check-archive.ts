/** Checks an archive before anything of it is imported, so that a bad one changes nothing. */
import { createHash, type Hash } from 'node:crypto'
import type { RecordReader } from './archive-reader.ts'
import {
  fileOf,
  headerOf,
  itemOf,
  listOf,
  requireNoMore,
  unusableArchive,
  archivedValue,
  archivedVersion,
} from './archived-content.ts'
import type { Table } from '../table/table.ts'
import { recordKindsWith } from './record-kinds.ts'
import { type ArchiveMembers, recordInteger, recordText, unfit } from './record-rows.ts'

/** The size of a complete archive. */
export interface ArchiveTotals {
  readonly records: number
  readonly files: number
  readonly fileBytes: number
  readonly largestFile: number
  /** Rows by table. */
  readonly rows: ReadonlyMap<string, number>
  /** UTF-8 bytes of the names and values that the quota of bytes counts, or fewer. */
  readonly bytes: number
}

/**
 * Reads the whole archive.
 *
 * @throws ServiceError `invalid_value` for an archive that is not complete, or has a record that no actor can import.
 */
export async function checkArchive(records: RecordReader, tables: readonly Table[]): Promise<ArchiveTotals> {
  headerOf(await records.next())
  const tableOf = tablesByKind(tables)
  let file: CheckedFile | null = null
  let [files, fileBytes, largestFile, bytes] = [0, 0, 0, 0]
  const rows = new Map<string, number>()
  for (let record = await records.next(); record !== undefined; record = await records.next()) {
    const { kind, members } = record
    if (kind === 'bytes') {
      file?.add(members)
      continue
    }
    if (file !== null) {
      const size = file.end()
      ;[files, fileBytes, largestFile] = [files + 1, fileBytes + size, Math.max(largestFile, size)]
    }
    file = kind === 'file' ? new CheckedFile(members) : null
    if (kind === 'end') {
      const count = requireComplete(members, records.count)
      requireNoMore(await records.next())
      return { records: count, files, fileBytes, largestFile, rows, bytes }
    }
    checks.get(kind)?.(members)
    const table = tableOf.get(kind)
    if (table !== undefined) rows.set(table, (rows.get(table) ?? 0) + 1)
    for (const name of sized.get(kind) ?? []) bytes += Buffer.byteLength(members.get(name) ?? '')
  }
  throw unusableArchive('its end is missing, so it is not complete')
}

function requireComplete(end: ArchiveMembers, count: number): number {
  const stated = recordInteger(end, 'end', 'records', 1)
  if (stated !== count - 1) throw unusableArchive(`it has ${count - 1} records, and its end states ${stated}`)
  return count
}

const checks: ReadonlyMap<string, (members: ArchiveMembers) => void> = new Map([
  [
    'property',
    (members: ArchiveMembers): void => {
      recordText(members, 'property', 'name')
      archivedValue(members, 'property')
      archivedVersion(members, 'property')
    },
  ],
  ['list', listOf],
  ['item', itemOf],
])

/** The tables of the records that an import reads, by their kinds. */
function tablesByKind(tables: readonly Table[]): ReadonlyMap<string, string> {
  return new Map([
    ['property', 'property'],
    ['list', 'property'],
    ['item', 'list_item'],
    ...recordKindsWith(tables)
      .filter(({ kind }) => kind !== 'app')
      .map(({ kind, table }) => [kind, table] as const),
  ])
}

/** The members whose bytes count. */
const sized: ReadonlyMap<string, readonly string[]> = new Map([
  ['property', ['value']],
  ['item', ['value']],
  ['attribute', ['data']],
])

class CheckedFile {
  readonly #facts: ReturnType<typeof fileOf>
  readonly #hash: Hash = createHash('sha256')
  #size = 0

  constructor(members: ArchiveMembers) {
    this.#facts = fileOf(members)
  }

  add(bytes: ArchiveMembers): void {
    const piece = Buffer.from(recordText(bytes, 'bytes', 'data'), 'base64')
    this.#size += piece.length
    this.#hash.update(piece)
  }

  /** Returns the size. */
  end(): number {
    if (this.#facts.size !== this.#size) throw unfit('file', 'size', `the archive has ${this.#size} bytes of this file`)
    if (this.#facts.hash !== this.#hash.digest('hex'))
      throw unfit('file', 'sha256', 'the bytes of the file have another digest')
    return this.#size
  }
}
