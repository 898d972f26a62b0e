import type { Core } from '../feature.ts'
import { fileEvent } from './event.ts'
import { Files } from './files.ts'
import type { FileSettings } from './options.ts'

export function createFiles(core: Core, limits: FileSettings): Files {
  const files = new Files({ ...core, bytes: core.fileBytes, limits, wake: core.unusedObjects.wake })
  files.changed.on((tx, actor, change) => core.events.record(tx, actor, [fileEvent(change)]))
  return files
}
