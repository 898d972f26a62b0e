/** What a provider says about a person, in the members that applications look for (WIRE-SIGNIN-02). */
import { present } from '../../json/present.ts'
import type { UserInfo } from '../provider.ts'

type Members = Readonly<Record<string, unknown>>

/**
 * Every member of `said` stays; names are added under the names that this service uses for all providers.
 *
 * @param kind The provider's: one calls the person by a user name.
 * @param posted The form field `user` of a first sign-in (JSON). The browser brought it, so it gives a missing name, and
 *   never an address.
 */
export function normalisedUserInfo(kind: string, said: Members, posted?: string): UserInfo {
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

/** The first text that says something. */
function textOf(...candidates: readonly unknown[]): string | undefined {
  return candidates.find((text): text is string => typeof text === 'string' && text.trim() !== '')?.trim()
}

function postedName(posted: string | undefined): Members {
  try {
    const { name } = JSON.parse(posted ?? '{}') as { readonly name?: unknown }
    return typeof name === 'object' && name !== null ? (name as Members) : {}
  } catch {
    // Not JSON, or `null`: the person has no name, and signs in nevertheless.
    return {}
  }
}
