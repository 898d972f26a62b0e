/** Checks an archive before anything of it is imported, so that a bad one changes nothing. */
import type { RecordReader } from './archive-reader.ts'
import {
  ArrivedContent,
  bytesIn,
  contentRowOf,
  headerOf,
  itemOf,
  listOf,
  requireNoMore,
  unusableArchive,
  archivedValue,
  archivedVersion,
} from './archived-content.ts'
import type { ContentKind, ContentTotals, RecordRow } from '../table/record-kind.ts'
import { contentKindsOf, type Table } from '../table/table.ts'
import { recordKindsWith } from './record-kinds.ts'
import { type ArchiveMembers, recordInteger, recordText } from './record-rows.ts'

/** The size of a complete archive. */
export interface ArchiveTotals {
  readonly records: number
  /** The kind of the actor. */
  readonly actorKind: string
  /** The contents in the storage of objects, by the kind of their records. */
  readonly contents: ReadonlyMap<ContentKind, ContentTotals>
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
  const { kind: actorKind } = headerOf(await records.next())
  const tableOf = tablesByKind(tables)
  const contents = new Map(contentKindsOf(tables).map((kind) => [kind, { count: 0, bytes: 0, largest: 0 }]))
  let content: CheckedContent | null = null
  let bytes = 0
  const rows = new Map<string, number>()
  for (let record = await records.next(); record !== undefined; record = await records.next()) {
    const { kind, members } = record
    if (kind === 'bytes') {
      content?.arrived.add(bytesIn(members))
      continue
    }
    if (content !== null) addContent(contents, content)
    content = contentOf(contents.keys(), kind, members)
    if (kind === 'end') {
      const count = requireComplete(members, records.count)
      requireNoMore(await records.next())
      return { records: count, actorKind, contents, rows, bytes }
    }
    checks.get(kind)?.(members)
    const table = tableOf.get(kind)
    if (table !== undefined) rows.set(table, (rows.get(table) ?? 0) + 1)
    for (const name of sized.get(kind) ?? []) bytes += Buffer.byteLength(members.get(name) ?? '')
  }
  throw unusableArchive('its end is missing, so it is not complete')
}

interface CheckedContent {
  readonly kind: ContentKind
  readonly row: RecordRow
  readonly arrived: ArrivedContent
}

function contentOf(kinds: Iterable<ContentKind>, kind: string, members: ArchiveMembers): CheckedContent | null {
  for (const one of kinds)
    if (one.kind === kind) return { kind: one, row: contentRowOf(one, members), arrived: new ArrivedContent() }
  return null
}

function addContent(contents: Map<ContentKind, ContentTotals>, { kind, row, arrived }: CheckedContent): void {
  const size = arrived.end(kind, row)
  const { count, bytes, largest } = contents.get(kind) ?? { count: 0, bytes: 0, largest: 0 }
  contents.set(kind, { count: count + 1, bytes: bytes + size, largest: Math.max(largest, size) })
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
