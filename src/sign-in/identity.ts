/** Derives a person's identity in this service from the provider's data. */
import { parseAddress } from '../actor/address.ts'
import type { Person } from './provider.ts'

/** How people are identified. `provider` falls back to the subject when the provider confirms no email address. */
export type IdentityMode = 'email' | 'provider'

export type PersonIdentity =
  /** `address` is null when the provider's subject identifies the person. */
  | { readonly kind: 'proven'; readonly identifier: string; readonly address: string | null }
  /** The provider confirms no address. */
  | { readonly kind: 'missing' }
  /** The address lookup at the provider failed. */
  | { readonly kind: 'unknown' }

/** @param needsAddress Requires an address in every mode. AI clients identify their owner by an address. */
export function identityOf(person: Person, mode: IdentityMode, needsAddress: boolean): PersonIdentity {
  if (person.address === 'failed') return { kind: 'unknown' }
  const address = person.address === null ? null : parseAddress(person.address)
  if (address !== null) return { kind: 'proven', identifier: address, address }
  if (mode === 'provider' && !needsAddress) return { kind: 'proven', identifier: person.stableId, address: null }
  return { kind: 'missing' }
}

/** Returns the userinfo for the application. Its email is the confirmed address, or absent. */
export function userInfoOf(person: Person, address: string | null): Readonly<Record<string, unknown>> {
  const { email: _email, ...rest } = person.userInfo
  return address === null ? rest : { ...rest, email: address }
}
