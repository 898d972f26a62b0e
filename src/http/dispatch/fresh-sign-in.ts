/**
 * Acts that need a fresh sign-in: a session that is still open on a device must not be enough to take the data along, to
 * delete it, or to change how the owner signs in (docs/decisions/086).
 */
import type { Caller } from '../../caller.ts'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import { beginAddress, configuredWebProviders, type ProviderDeps, wishQuery } from './sign-in-address.ts'
import type { BaseUrl } from './urls.ts'

export interface FreshSignInDeps {
  readonly config: Pick<Config, 'freshSignInMinutes'>
  /** Unix milliseconds. */
  readonly now: () => number
}

const minuteMs = 60_000

/** Returns whether the owner signed in within the configured time. Every caller without a session presents its credential now. */
export function isFresh({ config, now }: FreshSignInDeps, caller: Caller): boolean {
  const { freshSignInMinutes: minutes } = config
  if (minutes === 0 || caller.kind !== 'creator' || caller.authenticatedAt === undefined) return true
  return now() - caller.authenticatedAt <= minutes * minuteMs
}

/** @throws ServiceError `insufficient_user_authentication` (RFC 9470 section 3) for an older sign-in. */
export function requireFresh(deps: FreshSignInDeps, caller: Caller): void {
  if (isFresh(deps, caller)) return
  const seconds = deps.config.freshSignInMinutes * 60
  const text = 'This needs a recent sign-in: sign in again, then repeat the request'
  throw new ServiceError('insufficient_user_authentication', text, {
    headers: {
      'WWW-Authenticate': `Bearer error="insufficient_user_authentication", error_description="${text}", max_age="${seconds}"`,
    },
  })
}

/** Returns the address at which the owner signs in again. @param path Path on this host to continue to. */
export function freshSignInAddress(
  deps: ProviderDeps & BaseUrl & { readonly basePath: string },
  actorId: string,
  path: string,
): string {
  const wish = { actorId, redirect: path, isFresh: true }
  const [only, ...others] = configuredWebProviders(deps)
  return only !== undefined && others.length === 0
    ? beginAddress(deps, only.name, wish)
    : `${deps.basePath}/login${wishQuery(wish)}`
}
