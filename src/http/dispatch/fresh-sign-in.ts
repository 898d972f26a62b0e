/** Where an owner whose sign-in is too old for an act signs in again. */
import type { Caller } from '../../caller.ts'
import { SignInAge, type SignInAgeDeps } from '../../permission/sign-in-age.ts'
import { beginAddress, configuredWebProviders, type ProviderDeps, wishQuery } from './sign-in-address.ts'
import type { BaseUrl } from './urls.ts'

export interface FreshSignInDeps {
  readonly freshSignIn: FreshSignIn
}

export interface FreshSignInFacts extends ProviderDeps, BaseUrl, SignInAgeDeps {
  readonly basePath: string
}

export class FreshSignIn extends SignInAge {
  readonly #facts: FreshSignInFacts

  constructor(facts: FreshSignInFacts) {
    super(facts)
    this.#facts = facts
  }

  /** Returns the address at which the owner signs in again. @param path Path on this host to continue to. */
  address(actorId: string, path: string): string {
    const facts = this.#facts
    const wish = { actorId, redirect: path, isFresh: true }
    const [only, ...others] = configuredWebProviders(facts)
    return only !== undefined && others.length === 0
      ? beginAddress(facts, only.name, wish)
      : `${facts.basePath}/login${wishQuery(wish)}`
  }

  /** Returns the address of a sign-in that leads back to the page. Null while the last sign-in is fresh. */
  addressFor(caller: Caller, actorId: string, path: string): string | null {
    return this.isFresh(caller) ? null : this.address(actorId, path)
  }
}
