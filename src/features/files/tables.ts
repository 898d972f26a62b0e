/** The tables of files. The bytes are objects in their storage. */
import { placedByActor } from '../../table/placement.ts'
import { member, type RecordKind } from '../../table/record-kind.ts'
import type { Table } from '../../table/table.ts'
import { countFiles, deleteFiles, putFile } from './file-store.ts'
import { fileBytesQuota, filesQuota } from './quotas.ts'

const { text, integer, time } = member
const [hash, type] = [text('sha256', 'hash'), text('type')]

const records: RecordKind = {
  kind: 'file',
  table: 'file',
  key: ['name'],
  members: [text('name'), integer('size'), type, hash, time('created_at'), time('updated_at')],
  content: {
    compared: [hash, type],
    limits: [
      { of: 'count', setting: 'maxFiles', unit: 'files' },
      { of: 'bytes', setting: 'maxActorFileBytes', unit: 'bytes of files' },
      { of: 'largest', setting: 'maxFileBytes', unit: 'bytes in one file' },
    ],
    put: (tx, actorId, row) =>
      putFile(tx, actorId, {
        name: String(row['name']),
        object: String(row['object']),
        size: Number(row['size']),
        type: String(row['type']),
        hash: String(row['hash']),
        createdAt: Number(row['created_at']),
        updatedAt: Number(row['updated_at']),
      }),
    count: countFiles,
    clear: deleteFiles,
  },
}

export const fileTables: readonly Table[] = [
  {
    name: 'file',
    place: placedByActor(),
    records,
    quotas: [fileBytesQuota, filesQuota],
    manyRows: { key: 'name', size: '1' },
  },
  // The number and size of an actor's files.
  { name: 'file_usage', place: placedByActor(), storedBytes: 'bytes' },
]
