/** Acts of an owner about passkeys and recovery codes. */
import { type Acting, noteIfOwner } from '../../observe/own-acts.ts'
import type { SignInAge } from '../../permission/sign-in-age.ts'
import type { AddedPasskey, Passkeys } from '../passkey/passkeys.ts'

export interface PasskeyActsDeps {
  readonly passkeys: Pick<Passkeys, 'add' | 'remove' | 'rename' | 'replaceCodes'>
  readonly signInAge: SignInAge
}

export class PasskeyActs {
  readonly #deps: PasskeyActsDeps

  constructor(deps: PasskeyActsDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError like `Passkeys.add` */
  async add(by: Acting, added: AddedPasskey): Promise<void> {
    this.#deps.signInAge.require(by.caller)
    await this.#deps.passkeys.add(by.actor.id, added)
    noteIfOwner(by, 'passkey.add')
  }

  /** A name gives no access, so an old session may change it. @throws ServiceError `not_found` */
  async rename(by: Acting, passkeyId: string, name: string): Promise<void> {
    await this.#deps.passkeys.rename({ actorId: by.actor.id, passkeyId, name })
  }

  /** @throws ServiceError `not_found`, `conflict` for the last passkey of an owner who could not sign in without it. */
  async remove(by: Acting, passkey: string): Promise<void> {
    this.#deps.signInAge.require(by.caller)
    await this.#deps.passkeys.remove(by.actor.id, passkey)
    noteIfOwner(by, 'passkey.remove', { passkey })
  }

  /** Replaces the recovery codes. @returns the new codes, which are not stored. */
  async replaceCodes(by: Acting): Promise<readonly string[]> {
    this.#deps.signInAge.require(by.caller)
    const codes = await this.#deps.passkeys.replaceCodes(by.actor.id)
    noteIfOwner(by, 'recovery_codes.create')
    return codes
  }
}
