/** The event `file_changed`, for application code. */
import { fromPlain } from '../../json/json.ts'
import type { StoredEvent } from '../../job/change-event.ts'
import type { FileChange } from './files.ts'

/** The event of a stored file, or of a deleted one. */
export function fileEvent({ name, file }: FileChange): StoredEvent {
  const shown =
    file === null
      ? { name, operation: 'delete' }
      : { name, operation: 'put', size: file.size, type: file.type, sha256: file.hash }
  return { type: 'file_changed', name, data: fromPlain(shown) }
}
