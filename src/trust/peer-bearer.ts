/** The bearer kind of peers: the secret of a relationship. */
import type { BearerKind } from '../auth/authenticate.ts'
import { ServiceError } from '../errors.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Store } from '../store/store.ts'
import type { Contacts } from './last-seen.ts'
import { findTrustBySecret } from './trust-store.ts'

/** Found among this actor's relationships alone, by its hash: the clear secret is compared with nothing. */
export function peerBearer(store: Store, contacts: Contacts): BearerKind {
  return async (token, actor, via) => {
    const trust = await store.read((q) => findTrustBySecret(q, actor.id, hashSecret(token)))
    if (trust === null) return null
    if (trust.peerId === actor.id) {
      throw new ServiceError('forbidden', undefined, { reason: 'an actor is no peer of itself' })
    }
    const { peerId, relationship, approved } = trust
    const caller = { kind: 'peer', peerId, relationship, approved, via } as const
    contacts.expect(caller, trust)
    return caller
  }
}
