/**
 * Acts that need a fresh sign-in: a session that is still open on a device must not be enough to take the data along, to
 * delete it, or to leave behind access that outlives the session (docs/decisions/100).
 */
import type { Caller } from '../../caller.ts'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import type { Chain } from '../../token/chain.ts'
import { beginAddress, configuredWebProviders, type ProviderDeps, wishQuery } from './sign-in-address.ts'
import type { BaseUrl } from './urls.ts'

export interface FreshSignInDeps {
  readonly freshSignIn: FreshSignIn
}

export interface FreshSignInFacts extends ProviderDeps, BaseUrl {
  readonly config: Pick<Config, 'freshSignInMinutes'>
  readonly basePath: string
  /** Unix milliseconds. */
  readonly now: () => number
}

const minuteMs = 60_000

export class FreshSignIn {
  readonly #facts: FreshSignInFacts

  constructor(facts: FreshSignInFacts) {
    this.#facts = facts
  }

  /** Returns whether the owner signed in within the configured time. Every caller without a session presents its credential now. */
  isFresh(caller: Caller): boolean {
    return caller.kind !== 'creator' || caller.authenticatedAt === undefined || this.isFreshSession(caller)
  }

  /** Returns whether the person of a session proved who they are within the configured time. */
  isFreshSession({ authenticatedAt }: Partial<Pick<Chain, 'authenticatedAt'>>): boolean {
    const { config, now } = this.#facts
    const { freshSignInMinutes: minutes } = config
    return minutes === 0 || (authenticatedAt !== undefined && now() - authenticatedAt <= minutes * minuteMs)
  }

  /** @throws ServiceError `insufficient_user_authentication` (RFC 9470 section 3) for an older sign-in. */
  require(caller: Caller): void {
    if (!this.isFresh(caller)) throw this.refusal()
  }

  refusal(): ServiceError {
    const seconds = this.#facts.config.freshSignInMinutes * 60
    const text = 'This needs a recent sign-in: sign in again, then repeat the request'
    return new ServiceError('insufficient_user_authentication', text, {
      headers: {
        'WWW-Authenticate': `Bearer error="insufficient_user_authentication", error_description="${text}", max_age="${seconds}"`,
      },
    })
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
