import { application } from '../caller.ts'
import type { Runtime } from '../runtime.ts'
import { actorHandle, type HandleDeps } from './actor.ts'

/** From here on, the rooms can hand actors to the application's code. */
export function connectHandles({ handles }: Runtime, rooms: HandleDeps): void {
  handles.connect((actor, { withoutHooks }) =>
    actorHandle(rooms, { actor, caller: application, ...(withoutHooks ? { withoutHooks } : {}) }),
  )
}
