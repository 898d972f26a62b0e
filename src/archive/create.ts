import type { FileBytes } from '../file/file-bytes.ts'
import type { PropertyRoom } from '../property/create.ts'
import type { Runtime } from '../runtime.ts'
import { Archives } from './archives.ts'

interface ArchiveNeeds {
  readonly property: Pick<PropertyRoom, 'declared' | 'gate' | 'hooks'>
  readonly fileBytes: FileBytes
}

export function createArchives(runtime: Runtime, { property, fileBytes }: ArchiveNeeds): Archives {
  return new Archives({ ...runtime, ...property, bytes: fileBytes })
}
