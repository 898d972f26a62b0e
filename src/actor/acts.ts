/** Acts of an owner about the actor itself. */
import { type Acting, noteIfOwner } from '../observe/own-acts.ts'
import type { SignInAge } from '../permission/sign-in-age.ts'
import type { Actor } from './actor.ts'
import type { Actors } from './actors.ts'

export interface ActorActsDeps {
  readonly actors: Actors
  readonly signInAge: SignInAge
}

export class ActorActs {
  readonly #deps: ActorActsDeps

  constructor(deps: ActorActsDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError like `Actors.setTrustee` */
  async setTrustee(by: Acting, change: Parameters<Actors['setTrustee']>[1]): Promise<void> {
    this.#deps.signInAge.require(by.caller)
    await this.#deps.actors.setTrustee(by.actor.id, change)
    noteIfOwner(by, 'trustee.set')
  }

  /** Deletes the actor and all its data. */
  async delete(by: Acting & { readonly actor: Actor }): Promise<void> {
    this.#deps.signInAge.require(by.caller)
    await this.#deps.actors.deleteWithEvents(by.actor)
  }

  async removeTrustee(by: Acting): Promise<void> {
    await this.#deps.actors.setTrustee(by.actor.id, { trusteeRoot: null })
    noteIfOwner(by, 'trustee.remove')
  }
}
