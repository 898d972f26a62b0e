/**
 * Acts that need a fresh sign-in: a session that is still open on a device must not be enough to take the data along, to
 * delete it, or to leave behind access that outlives the session (docs/decisions/100).
 */
import type { Caller } from '../caller.ts'
import type { Config } from '../config/options.ts'
import { ServiceError } from '../errors.ts'

export interface SignInAgeDeps {
  readonly config: Pick<Config, 'freshSignInMinutes'>
  /** Unix milliseconds. */
  readonly now: () => number
}

const minuteMs = 60_000

export class SignInAge {
  readonly #deps: SignInAgeDeps

  constructor(deps: SignInAgeDeps) {
    this.#deps = deps
  }

  /** Returns whether the owner signed in within the configured time. Every caller without a session presents its credential now. */
  isFresh(caller: Caller): boolean {
    return caller.kind !== 'creator' || caller.authenticatedAt === undefined || this.isFreshSession(caller)
  }

  /** Returns whether the person of a session proved who they are within the configured time. */
  isFreshSession({ authenticatedAt }: { readonly authenticatedAt?: number | undefined }): boolean {
    const { config, now } = this.#deps
    const { freshSignInMinutes: minutes } = config
    return minutes === 0 || (authenticatedAt !== undefined && now() - authenticatedAt <= minutes * minuteMs)
  }

  /** @throws ServiceError `insufficient_user_authentication` (RFC 9470 section 3) for an older sign-in. */
  require(caller: Caller): void {
    if (!this.isFresh(caller)) throw this.refusal()
  }

  refusal(): ServiceError {
    const seconds = this.#deps.config.freshSignInMinutes * 60
    const text = 'This needs a recent sign-in: sign in again, then repeat the request'
    return new ServiceError('insufficient_user_authentication', text, {
      headers: {
        'WWW-Authenticate': `Bearer error="insufficient_user_authentication", error_description="${text}", max_age="${seconds}"`,
      },
    })
  }
}
