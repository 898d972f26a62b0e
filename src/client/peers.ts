/** The relationships of the actor. */
import type { RequestSender } from './connection.ts'
import type { ChangeStream } from './live.ts'
import { Watched } from './watched.ts'

/** A relationship with a peer, as the service sends it. @public */
export interface PeerRelationship {
  readonly peerid: string
  readonly relationship: string
  /** The address of the peer. */
  readonly baseuri: string
  /** The type of the peer's application. */
  readonly type: string
  readonly desc: string
  /** Whether the owner approved. */
  readonly approved: boolean
  /** Whether the owner of the peer approved. */
  readonly peer_approved: boolean
}

/** The relationships of the actor. @public */
export interface PeerRelationships {
  /** Returns all relationships, also those that one side has not approved. */
  list(): Promise<readonly PeerRelationship[]>
  /** Calls `onList` with the relationships now and after each change. Returns the function that ends this. */
  live(onList: (peers: readonly PeerRelationship[]) => void, onError?: (error: Error) => void): () => void
  /** The relationships with their state, for `usePeers`. */
  readonly watched: Watched<readonly PeerRelationship[]>
}

export function peerRelationships(connection: RequestSender, live: ChangeStream): PeerRelationships {
  const list = async (): Promise<readonly PeerRelationship[]> => {
    const response = await connection.request('GET', '/trust')
    return ((await response.json()) as readonly PeerRelationship[]).map(
      // The owner also receives the secret of each relationship, which a page must not keep.
      ({ peerid, relationship, baseuri, type, desc, approved, peer_approved }) => ({
        peerid,
        relationship,
        baseuri,
        type,
        desc,
        approved,
        peer_approved,
      }),
    )
  }
  const watched = new Watched(live, { concerns: ({ category }) => category === 'trust', read: list })
  return { list, watched, live: (onList, onError) => watched.live(onList, onError) }
}
