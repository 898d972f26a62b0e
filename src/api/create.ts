import type { ActorHandle } from '../app/actor-handle.ts'
import { application } from '../caller.ts'
import type { Access } from '../property/access.ts'
import type { Runtime } from '../runtime.ts'
import { actorHandle, type HandleDeps } from './actor.ts'

type Members = Readonly<Record<string, ((access: Access) => unknown) | undefined>>

/** Connects the actor handles to the rooms and to features. Application code can receive actors afterwards. */
export function connectHandles({ handles, registry }: Runtime, rooms: HandleDeps, ofFeatures: Members): void {
  handles.connect((actor, { withoutHooks }) => {
    // Refuses an actor of an undeclared kind.
    registry.of(actor)
    const access = { actor, caller: application, ...(withoutHooks ? { withoutHooks } : {}) }
    const handle = actorHandle(rooms, access)
    addMembers(handle, ofFeatures, access)
    return handle
  })
}

/** Adds the members of features. They are made when application code first reads them. */
function addMembers(handle: Partial<ActorHandle>, members: Members, access: Access): asserts handle is ActorHandle {
  for (const [name, make] of Object.entries(members))
    Object.defineProperty(handle, name, { enumerable: true, get: () => make?.(access) })
}
