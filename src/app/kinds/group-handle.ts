/** The handle of a group, with the roles of its kind. */
import type { ActorHandle } from '../actor-handle.ts'
import type { MembersHandle } from './groups.ts'

/** An actor of a kind with these roles. @experimental */
export interface GroupHandle<Role extends string> extends Omit<ActorHandle, 'members'> {
  readonly members: MembersHandle<Role>
}
