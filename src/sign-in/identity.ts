/** Who a person is to this service, by what the provider vouches for. */
import { parseAddress } from '../actor/address.ts'
import type { Person } from './provider.ts'

/** What identifies people: their address, or the provider's name for them where it vouches for none. */
export type IdentityMode = 'email' | 'provider'

export type PersonIdentity =
  /** `address`: null where the provider's name for the person takes its place. */
  | { readonly kind: 'proven'; readonly identifier: string; readonly address: string | null }
  /** The provider vouches for no address. */
  | { readonly kind: 'missing' }
  /** The provider could not be asked, so nobody knows. */
  | { readonly kind: 'unknown' }

/** @param needsAddress An AI client's owner is known by an address, whatever the mode. */
export function identityOf(person: Person, mode: IdentityMode, needsAddress: boolean): PersonIdentity {
  if (person.address === 'failed') return { kind: 'unknown' }
  const address = person.address === null ? null : parseAddress(person.address)
  if (address !== null) return { kind: 'proven', identifier: address, address }
  if (mode === 'provider' && !needsAddress) return { kind: 'proven', identifier: person.stableId, address: null }
  return { kind: 'missing' }
}

/** For the application: with the address that is vouched for, and no other. */
export function userInfoOf(person: Person, address: string | null): Readonly<Record<string, unknown>> {
  const { email: _email, ...rest } = person.userInfo
  return address === null ? rest : { ...rest, email: address }
}
