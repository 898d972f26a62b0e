/** The name of a peer or program that is not the owner's nickname for it. */
import { isRecord } from '../../json/is-record.ts'
import type { Json } from '../../json/json.ts'
import { isReservedName } from './reserved-names.ts'
import { isProgram, type Trust } from '../trust.ts'

/**
 * The name that the peer chose in its profile, the name of the program to which the owner consented, or the name that the
 * owner gave to the key. Empty: none, or a reserved name.
 */
export function ownNameOf(
  trust: Pick<Trust, 'establishedVia' | 'description' | 'facts'>,
  profile: Json | undefined,
): string {
  const { establishedVia, description, facts } = trust
  if (establishedVia === 'api_key') return description
  if (isProgram(trust)) return allowed(facts.client_name)
  return allowed(textIn(profile, 'displayname') ?? textIn(profile, 'email')) || allowed(facts.peer_identifier)
}

/** The name that a program claims now, when the owner consented to another one. Empty: none. */
export function claimedNameOf(trust: Pick<Trust, 'establishedVia' | 'facts'>): string {
  const { client_name: name, client_claimed_name: claimed } = trust.facts
  return isProgram(trust) && claimed !== name ? allowed(claimed) : ''
}

function allowed(name: string | null | undefined): string {
  return name === null || name === undefined || isReservedName(name) ? '' : name
}

export function textIn(value: Json | undefined, name: string): string | null {
  if (!isRecord(value) || !Object.hasOwn(value, name)) return null
  const found = value[name]
  return typeof found === 'string' && found !== '' ? found : null
}
