import type { DomainEvent } from '../domain-event.ts'
import type { Permission } from '../permission/permission.ts'
import type { Runtime } from '../runtime.ts'
import type { Transaction } from '../store/store.ts'
import type { FileBytes } from './file-bytes.ts'
import { releaseObjectsOf } from './file-store.ts'
import { Files } from './files.ts'
import { UnusedObjects } from './unused-objects.ts'

export interface FileNeeds {
  readonly permission: Permission
  readonly bytes: FileBytes
  readonly actorsDeleting: DomainEvent<[tx: Transaction, actorIds: readonly string[]]>
}

export type FileModule = ReturnType<typeof createFiles>

export function createFiles(runtime: Runtime, { permission, bytes, actorsDeleting }: FileNeeds) {
  const { store, now, config } = runtime
  const unusedObjects = new UnusedObjects({ ...runtime, bytes })
  actorsDeleting.on(async (tx, actorIds) => {
    await releaseObjectsOf(tx, actorIds, now())
    store.afterCommit(tx, () => {
      for (const actorId of actorIds) unusedObjects.wake(actorId)
    })
  })
  const files = new Files({ ...runtime, permission, bytes, limits: config, wake: unusedObjects.wake })
  return { files, unusedObjects, fileBytes: bytes }
}
