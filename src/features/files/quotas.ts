/** The quotas of files. `Files` keeps and checks them, because it knows the size before it stores the bytes. */
import type { Quota } from '../../quota/quota.ts'

const remedy = 'Delete files that are not needed.'

export const filesQuota: Quota = {
  name: 'files',
  setting: 'maxFiles',
  unit: 'files',
  counts: 'Every file counts.',
  remedy,
  tables: [],
  sql: 'SELECT files AS used FROM file_usage WHERE actor_id = $1',
}

export const fileBytesQuota: Quota = {
  name: 'file_bytes',
  setting: 'maxActorFileBytes',
  unit: 'bytes in files',
  counts: 'The content of every file counts.',
  remedy,
  tables: [],
  sql: 'SELECT bytes AS used FROM file_usage WHERE actor_id = $1',
}
