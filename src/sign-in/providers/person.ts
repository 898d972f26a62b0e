/** What a provider says about a person, and which of their addresses it vouches for. */
import { type Address, parseAddress } from '../../actor/address.ts'

export type Facts = Readonly<Record<string, unknown>>

/** About the token and not about the person (OpenID Connect Core sections 2 and 3.3.2.11). */
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

/** Facts of two sources. An address and what is said about it are never from different ones. */
export function merged(base: Facts, better: Facts): Facts {
  const { email, email_verified, verified_email, is_private_email, ...rest } = base
  const address =
    textOf(better['email']) === undefined ? present({ email, email_verified, verified_email, is_private_email }) : {}
  return { ...address, ...rest, ...better }
}

/**
 * The address, when the provider says that it is the person's. Some say so in text. A relay address of Apple is Apple's
 * own, unless it denies that.
 */
export function vouchedAddress(facts: Facts): Address | null {
  const says = facts['email_verified'] ?? facts['verified_email']
  const isVouched = says === undefined ? isTrue(facts['is_private_email']) : isTrue(says)
  return isVouched ? addressOf(facts['email']) : null
}

/** In its one spelling; null for what is no address at all. */
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

/** @returns An empty one for what is no object. */
export function personFactsOf(value: unknown): Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
