/** The bearer kind of peers: the secret of a relationship. */
import type { BearerKind } from '../auth/authenticate.ts'
import { ServiceError } from '../errors.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Store } from '../store/store.ts'
import type { LastSeen } from './last-seen.ts'
import { isApprovedAt } from './trust.ts'
import { findPeerBySecret } from './trust-store.ts'

/**
 * Finds the relationship by the hash of the secret, only among those of this actor. The clear secret is never compared. Only
 * the header counts: a browser adds a cookie to requests of any site, and other hosts of the domain can set one.
 */
export function peerBearer(store: Store, contacts: LastSeen): BearerKind {
  return (token, actor, via) => {
    if (via !== 'bearer') return null
    return store
      .read((q) => findPeerBySecret(q, actor.id, hashSecret(token)))
      .then((peer) => {
        if (peer === null) return null
        if (peer.peerId === actor.id) {
          throw new ServiceError('forbidden', undefined, { reason: 'an actor cannot be its own peer' })
        }
        const { peerId, relationship, lastAccessed } = peer
        const approved = isApprovedAt(peer, store.now())
        const caller = { kind: 'peer', peerId, relationship, approved, via } as const
        contacts.expect(caller, { actorId: actor.id, peerId, lastAccessed })
        return caller
      })
  }
}
