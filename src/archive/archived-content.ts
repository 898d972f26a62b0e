/** The content of records that every import reads: the header, values, lists and records with content. */
import { createHash } from 'node:crypto'
import { personKind } from '../app/kinds/person.ts'
import { parseActorId } from '../actor/actor.ts'
import { quoted, ServiceError } from '../errors.ts'
import { type JsonText, replaceLoneSurrogates, stringValue } from '../json/json.ts'
import type { ArchivedItem, ArchivedList } from '../list/list.ts'
import type { ContentKind, RecordMember, RecordRow } from '../table/record-kind.ts'
import type { ArchiveRecord, RecordReader } from './archive-reader.ts'
import { archiveVersion } from './export-actor.ts'
import { type ArchiveMembers, recordInteger, recordText, unfit } from './record-rows.ts'

export interface ArchiveHeader {
  readonly id: string
  readonly creator: string
  readonly trusteeRoot: string | null
  readonly createdAt: number
  readonly kind: string
}

export function headerOf(first: ArchiveRecord | undefined): ArchiveHeader {
  if (first?.kind !== 'archive') throw unusableArchive('it does not begin with a record of the kind archive')
  const given = first.members
  const version = recordInteger(given, 'archive', 'version', 1)
  if (version > archiveVersion)
    throw unusableArchive(`it has version ${version}, and this release reads versions up to ${archiveVersion}`)
  const id = parseActorId(recordText(given, 'archive', 'actor'))
  if (id === null) throw unfit('archive', 'actor', 'it is not the id of an actor')
  const createdAt = timeOf(given, 'archive', 'created_at')
  const trusteeRoot = given.get('trustee_root')
  return {
    id,
    creator: recordText(given, 'archive', 'creator'),
    trusteeRoot: trusteeRoot === undefined ? null : stringValue(trusteeRoot),
    createdAt,
    kind: given.has('actor_kind') ? recordText(given, 'archive', 'actor_kind') : personKind,
  }
}

export function unusableArchive(why: string): ServiceError {
  return new ServiceError('invalid_value', `Cannot import the archive: ${why}`)
}

/** Requires the end of the archive, because no reader would notice a second one. @throws ServiceError `invalid_value` */
export function requireNoMore(record: ArchiveRecord | undefined): void {
  if (record !== undefined)
    throw unusableArchive(
      record.kind === 'archive'
        ? 'a second archive begins behind its end. Import each archive from a file of its own'
        : `a record of the kind ${quoted(record.kind)} follows behind its end. Remove what was added to the file`,
    )
}

export function archivedValue(given: ArchiveMembers, kind: string): JsonText {
  const value = given.get('value')
  if (value === undefined) throw unfit(kind, 'value', 'it is missing')
  return replaceLoneSurrogates(value)
}

export function archivedVersion(given: ArchiveMembers, kind: string): number {
  return given.has('version') ? recordInteger(given, kind, 'version', 1) : 1
}

export function listOf(given: ArchiveMembers): ArchivedList {
  return {
    list: recordText(given, 'list', 'name'),
    id: recordText(given, 'list', 'id'),
    description: recordText(given, 'list', 'description'),
    explanation: recordText(given, 'list', 'explanation'),
    createdAt: recordText(given, 'list', 'created_at'),
    updatedAt: recordText(given, 'list', 'updated_at'),
    nextItem: recordInteger(given, 'list', 'next_item', 1),
    revision: recordInteger(given, 'list', 'revision', 1),
    length: recordInteger(given, 'list', 'length', 0),
  }
}

/** The row of a record with content, without its object. @throws ServiceError `invalid_value` */
export function contentRowOf({ kind, members }: ContentKind, given: ArchiveMembers): RecordRow {
  const stored = ({ name, type }: RecordMember): string | number => {
    if (type === 'integer') return recordInteger(given, kind, name, 0)
    return type === 'time' ? timeOf(given, kind, name) : recordText(given, kind, name)
  }
  return Object.fromEntries(members.map((member) => [member.column, stored(member)]))
}

/** The piece of a content in a record of the kind `bytes`. @throws ServiceError `invalid_value` */
export function bytesIn(given: ArchiveMembers): Buffer {
  return Buffer.from(recordText(given, 'bytes', 'data'), 'base64')
}

/** The pieces of the content after a record. */
export async function* contentAfter(records: RecordReader): AsyncGenerator<Buffer, void> {
  for (let ahead = await records.peek(); ahead?.kind === 'bytes'; ahead = await records.peek()) {
    yield bytesIn(ahead.members)
    await records.next()
  }
}

/** Hashes and counts a content that arrives. */
export class ArrivedContent {
  readonly #hash = createHash('sha256')
  #size = 0

  add(piece: Uint8Array): void {
    this.#size += piece.length
    this.#hash.update(piece)
  }

  /** Returns the size. @throws ServiceError `invalid_value` for another content than that of the row. */
  end({ kind, members }: ContentKind, row: RecordRow): number {
    const named = (column: string): string => members.find((member) => member.column === column)?.name ?? column
    if (row['size'] !== this.#size)
      throw unfit(kind, named('size'), `the archive has ${this.#size} bytes of this ${kind}`)
    if (row['hash'] !== this.#hash.digest('hex'))
      throw unfit(kind, named('hash'), `the bytes of the ${kind} have another digest`)
    return this.#size
  }
}

/** A time of a record, in Unix milliseconds. @throws ServiceError `invalid_value` */
function timeOf(given: ArchiveMembers, kind: string, name: string): number {
  const ms = Date.parse(recordText(given, kind, name))
  if (Number.isNaN(ms)) throw unfit(kind, name, 'it is not a time')
  return ms
}

export function itemOf(given: ArchiveMembers): ArchivedItem {
  return {
    item: recordInteger(given, 'item', 'number', 1),
    revision: given.has('revision') ? recordInteger(given, 'item', 'revision', 1) : 1,
    version: archivedVersion(given, 'item'),
    value: archivedValue(given, 'item'),
  }
}
