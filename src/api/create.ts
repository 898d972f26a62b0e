import { application } from '../caller.ts'
import type { Runtime } from '../runtime.ts'
import { actorHandle, type HandleDeps } from './actor.ts'

/** Connects the actor handles to the rooms. Application code can receive actors afterwards. */
export function connectHandles({ handles }: Runtime, rooms: HandleDeps): void {
  handles.connect((actor, { withoutHooks }) =>
    actorHandle(rooms, { actor, caller: application, ...(withoutHooks ? { withoutHooks } : {}) }),
  )
}
