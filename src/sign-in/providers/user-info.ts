/** Normalized userinfo, with the members that applications expect (WIRE-SIGNIN-02). */
import { present } from '../../json/present.ts'
import type { UserInfo } from '../provider.ts'

type Members = Readonly<Record<string, unknown>>

/**
 * Adds `display_name`, `given_name` and `family_name` to the provider's members.
 *
 * @param kind Kind of the provider. For GitHub, the login is the fallback of the display name.
 * @param posted The form field `user` of a first sign-in (JSON). The browser sent it, so it may supply a missing name, but
 *   never an address.
 */
export function normalizedUserInfo(kind: string, said: Members, posted?: string): UserInfo {
  const name = postedName(posted)
  const given = textOf(said['given_name'], said['firstName'], name['firstName'])
  const family = textOf(said['family_name'], said['lastName'], name['lastName'])
  const both = [given, family].filter((part) => part !== undefined).join(' ')
  const display = textOf(said['display_name'], said['name'], both, kind === 'github' ? said['login'] : undefined)
  return {
    ...said,
    ...present({ display_name: display, given_name: given, family_name: family }),
  }
}

/** Returns the first non-empty string. */
function textOf(...candidates: readonly unknown[]): string | undefined {
  return candidates.find((text): text is string => typeof text === 'string' && text.trim() !== '')?.trim()
}

function postedName(posted: string | undefined): Members {
  try {
    const { name } = JSON.parse(posted ?? '{}') as { readonly name?: unknown }
    return typeof name === 'object' && name !== null ? (name as Members) : {}
  } catch {
    // An invalid field means that the person has no name. The sign-in continues.
    return {}
  }
}
