/** Acts of an owner about invitations. */
import { ServiceError } from '../../errors.ts'
import { type Acting, noteIfOwner } from '../../observe/own-acts.ts'
import type { SignInAge } from '../../permission/sign-in-age.ts'
import type { FeatureAct } from '../feature.ts'
import type { CreatedInvitation, Invitations, InvitationWish } from './invitations.ts'

/** The acts that `InvitationActs` notes. */
export const invitationOwnActs: readonly FeatureAct[] = [
  { spelling: 'POST /invitations', sentence: (words) => words.invite },
  { spelling: 'DELETE /invitations/{invitation}', sentence: (words) => words.revokeInvitation },
]

export interface InvitationActsDeps {
  readonly invitations: Pick<Invitations, 'create' | 'revoke'>
  readonly signInAge: SignInAge
}

export class InvitationActs {
  readonly #deps: InvitationActsDeps

  constructor(deps: InvitationActsDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError like `Invitations.create` */
  async create(by: Acting, wish: InvitationWish): Promise<CreatedInvitation> {
    this.#deps.signInAge.require(by.caller)
    const created = await this.#deps.invitations.create(by.actor.id, wish)
    noteIfOwner(by, 'POST /invitations')
    return created
  }

  /** @throws ServiceError `not_found` */
  async revoke(by: Acting, invitation: string): Promise<void> {
    if (!(await this.#deps.invitations.revoke(by.actor.id, invitation)))
      throw new ServiceError('not_found', 'Cannot find the invitation: it does not exist, was used or has ended')
    noteIfOwner(by, 'DELETE /invitations/{invitation}', { invitation })
  }
}
