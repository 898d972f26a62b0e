/** Gives up an object whose content did not become a file. */
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import { abandonObject, type ObjectKey } from './object-store.ts'

export interface AbandonDeps {
  readonly store: Pick<Store, 'write'>
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
  /** Starts the deletion of unused objects of the actor. */
  readonly wakeUnused: (actorId: string) => void
}

/** Makes the deletion of the object due. A failure is logged, because the error that led here matters more. */
export async function abandon(
  { store, now, log, wakeUnused }: AbandonDeps,
  key: ObjectKey,
  what: string,
): Promise<void> {
  try {
    await store.write((tx) => abandonObject(tx, key, now()))
    wakeUnused(key.actorId)
  } catch (error) {
    log.warn({ error, actorId: key.actorId }, `Cannot delete ${what} now; the service deletes it later`)
  }
}
