import type { DomainEvent } from '../domain-event.ts'
import type { Runtime } from '../runtime.ts'
import type { Transaction } from '../store/store.ts'
import type { FileBytes } from './file-bytes.ts'
import { releaseObjectsOf } from './object-store.ts'
import { UnusedObjects } from './unused-objects.ts'

export interface ObjectNeeds {
  readonly bytes: FileBytes
  readonly actorsDeleting: DomainEvent<[tx: Transaction, actorIds: readonly string[]]>
}

export type ObjectModule = ReturnType<typeof createObjects>

/** Creates the storage of objects, which deletes those of deleted actors. */
export function createObjects(runtime: Runtime, { bytes, actorsDeleting }: ObjectNeeds) {
  const { store, now } = runtime
  const unusedObjects = new UnusedObjects({ ...runtime, bytes })
  actorsDeleting.on(async (tx, actorIds) => {
    await releaseObjectsOf(tx, actorIds, now())
    store.afterCommit(tx, () => {
      for (const actorId of actorIds) unusedObjects.wake(actorId)
    })
  })
  return { unusedObjects, fileBytes: bytes }
}
