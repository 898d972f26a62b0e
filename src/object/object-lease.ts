/** The lease of an object that is being written. It ends soon after the process is killed, and the object is deleted. */
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import type { Cancel, Timers } from '../timers.ts'
import { type ObjectKey, renewObject } from './object-store.ts'
import { objectLeaseMs } from './unused-objects.ts'

interface LeaseDeps {
  readonly store: Pick<Store, 'write'>
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
}

/** Extends the lease of an upload until the returned function is called. */
export function leased({ store, timers, now, log }: LeaseDeps, key: ObjectKey): () => void {
  let cancel: Cancel = () => {}
  let isOver = false
  const again = (): void => {
    cancel = timers.setTimer(objectLeaseMs / 4, () => {
      store
        .write((tx) => renewObject(tx, key, now() + objectLeaseMs), { durability: 'relaxed' })
        .catch((error: unknown) => log.warn({ error, actorId: key.actorId }, 'Cannot extend the lease of an upload'))
        .finally(() => {
          if (!isOver) again()
        })
    })
  }
  again()
  return () => {
    isOver = true
    cancel()
  }
}
