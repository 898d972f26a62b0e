/** Acts of an owner about programs with a password. */
import { type Acting, noteIfOwner } from '../../observe/own-acts.ts'
import type { SignInAge } from '../../permission/sign-in-age.ts'
import type { PasswordAccess } from '../password-access.ts'

export interface PasswordAccessActsDeps {
  readonly passwordAccess: Pick<PasswordAccess, 'decide'>
  readonly signInAge: SignInAge
}

export class PasswordAccessActs {
  readonly #deps: PasswordAccessActsDeps

  constructor(deps: PasswordAccessActsDeps) {
    this.#deps = deps
  }

  /** Keeps or revokes the password of the actor that a program created. @throws ServiceError like `PasswordAccess.decide` */
  async decide(by: Acting, actorId: string, decision: 'kept' | 'revoked'): Promise<void> {
    const { passwordAccess, signInAge } = this.#deps
    if (decision === 'kept') signInAge.require(by.caller)
    await passwordAccess.decide({ ownerId: by.actor.id, actorId, decision, by: by.caller })
    noteIfOwner(by, 'program.decide', { actor: actorId })
  }
}
