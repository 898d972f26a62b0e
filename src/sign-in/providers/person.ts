/** Facts that a provider sends about a person, and the email address that it confirms. */
import { type Address, parseAddress } from '../../actor/address.ts'

export type Facts = Readonly<Record<string, unknown>>

/** Claims about the token, not about the person (OpenID Connect Core sections 2 and 3.3.2.11). */
const aboutTheToken = new Set([
  'iss',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'nonce',
  'azp',
  'at_hash',
  'c_hash',
  's_hash',
  'auth_time',
  'acr',
  'amr',
  'sid',
  'nonce_supported',
])

export function aboutThePerson(claims: Facts): Facts {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !aboutTheToken.has(name)))
}

/** Merges facts of two sources. An address and its verification status always come from the same source. */
export function merged(base: Facts, better: Facts): Facts {
  const { email, email_verified, verified_email, is_private_email, ...rest } = base
  const address =
    textOf(better['email']) === undefined ? present({ email, email_verified, verified_email, is_private_email }) : {}
  return { ...address, ...rest, ...better }
}

/**
 * Returns the address if the provider confirms it. Some providers send the string "true". Apple's private relay addresses
 * count as confirmed, unless Apple explicitly sends `email_verified: false`.
 */
export function confirmedAddress(facts: Facts): Address | null {
  const says = facts['email_verified'] ?? facts['verified_email']
  const isVouched = says === undefined ? isTrue(facts['is_private_email']) : isTrue(says)
  return isVouched ? addressOf(facts['email']) : null
}

/** Normalizes an address. Null for an invalid one. */
export function addressOf(value: unknown): Address | null {
  return typeof value === 'string' ? parseAddress(value) : null
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true'
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function present(members: Facts): Facts {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** Returns a copy of an object, or an empty object for any other value. */
export function personFactsOf(value: unknown): Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
