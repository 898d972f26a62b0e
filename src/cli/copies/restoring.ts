/** Gives commands the parts of the service that restore actors. */
import type { RestoreDeps } from '../../archive/restore-actor.ts'
import type { Config } from '../../config/options.ts'
import { openFileBytes } from '../../object/open-bytes.ts'
import { RemovedLists } from '../../list/removed-lists.ts'
import { createLog } from '../../observe/log.ts'
import { keyRingOf } from '../../open-runtime.ts'
import type { Store } from '../../store/store.ts'
import { systemTimers } from '../../timers.ts'
import { projectTables } from '../project/known-project.ts'

export type Restoring = Pick<RestoreDeps, 'store' | 'keyRing' | 'bytes' | 'tables' | 'uniqueCreator' | 'deleteRemoved'>

export async function withRestoring<T>(
  store: Store,
  config: Config,
  work: (deps: Restoring) => Promise<T>,
): Promise<T> {
  const removedLists = new RemovedLists({ store, timers: systemTimers, log: createLog('silent') })
  const bytes = openFileBytes(config, false)
  try {
    return await work({
      store,
      keyRing: await keyRingOf(config),
      bytes,
      ...projectTables(),
      uniqueCreator: config.uniqueCreator,
      deleteRemoved: (id) => removedLists.deleteRowsOf(id),
    })
  } finally {
    await removedLists.stop()
    await bytes.close()
  }
}
