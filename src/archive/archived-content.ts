/** The content of records that every import reads: the header, values, lists and files. */
import { parseActorId } from '../actor/actor.ts'
import { quoted, ServiceError } from '../errors.ts'
import type { putFile } from '../features/files/file-store.ts'
import { type JsonText, stringValue } from '../json/json.ts'
import type { ArchivedItem, ArchivedList } from '../list/list.ts'
import type { ArchiveRecord } from './archive-reader.ts'
import { archiveVersion } from './export-actor.ts'
import { type ArchiveMembers, recordInteger, recordText, unfit } from './record-rows.ts'

export interface ArchiveHeader {
  readonly id: string
  readonly creator: string
  readonly trusteeRoot: string | null
  readonly createdAt: number
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
  return value
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

export function fileOf(given: ArchiveMembers): Omit<Parameters<typeof putFile>[2], 'object'> {
  return {
    name: recordText(given, 'file', 'name'),
    size: recordInteger(given, 'file', 'size', 0),
    type: recordText(given, 'file', 'type'),
    hash: recordText(given, 'file', 'sha256'),
    createdAt: timeOf(given, 'file', 'created_at'),
    updatedAt: timeOf(given, 'file', 'updated_at'),
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
