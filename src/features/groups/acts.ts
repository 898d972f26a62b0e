/** Acts of the owner of a group about its members. */
import { ServiceError } from '../../errors.ts'
import { type Acting, noteIfOwner } from '../../observe/own-acts.ts'
import type { SignInAge } from '../../permission/sign-in-age.ts'
import type { FeatureAct } from '../feature.ts'
import type { CreatedInvitation, InvitationWish } from '../invitations/invitations.ts'
import type { Groups } from './groups.ts'

/** The acts that `MemberActs` notes. */
export const memberOwnActs: readonly FeatureAct[] = [
  { spelling: 'POST /members/invitations', sentence: (words) => words.inviteMember },
  { spelling: 'PUT /members/{member}', sentence: (words) => words.changeRole },
  { spelling: 'DELETE /members/{member}', sentence: (words) => words.removeMember },
]

export interface MemberActsDeps {
  readonly groups: Pick<Groups, 'invite' | 'setRole' | 'remove'>
  readonly signInAge: SignInAge
}

export class MemberActs {
  readonly #deps: MemberActsDeps

  constructor(deps: MemberActsDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError like `Groups.invite` */
  async invite(by: Acting, role: string, wish: Omit<InvitationWish, 'relationship'>): Promise<CreatedInvitation> {
    this.#deps.signInAge.require(by.caller)
    const created = await this.#deps.groups.invite(by.actor, role, wish)
    noteIfOwner(by, 'POST /members/invitations')
    return created
  }

  /** @throws ServiceError like `Groups.setRole` */
  async setRole(by: Acting, member: string, role: string): Promise<void> {
    this.#deps.signInAge.require(by.caller)
    await this.#deps.groups.setRole(by.actor, member, { role, by: 'owner' })
    noteIfOwner(by, 'PUT /members/{member}', { member })
  }

  /** @throws ServiceError `not_found`, `conflict` for the last manager. */
  async remove(by: Acting, member: string): Promise<void> {
    if (!(await this.#deps.groups.remove(by.actor, member))) throw noMember()
    noteIfOwner(by, 'DELETE /members/{member}', { member })
  }
}

export function noMember(): ServiceError {
  return new ServiceError('not_found', 'Cannot find the member: it is not in the group')
}
