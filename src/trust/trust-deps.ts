/** What the files of this room share. */
import type { Actor } from '../actor/actor.ts'
import type { ActorHandle } from '../app/actor-handle.ts'
import type { Registry } from '../app/registry.ts'
import type { Notice } from '../outbox/notice.ts'
import type { FirstAttempts } from '../outbox/notices.ts'
import type { Live } from '../live/live.ts'
import type { Log } from '../observe/log.ts'
import type { PeerTimes } from '../peer/timeouts.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { LockedActor, Store, Transaction } from '../store/store.ts'
import type { TrustCalls } from './handshake/peer-calls.ts'
import type { Trust } from './trust.ts'

export type Self = Pick<Actor, 'id' | 'creator'>

export interface TrustDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly registry: Registry
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
  readonly times: PeerTimes
  readonly baseUrl: string
  /** The application's type, as peers are told. */
  readonly type: string
  readonly handleOf: (actor: Self) => ActorHandle
  readonly calls: TrustCalls
  /** Told of every relationship that changes, by its peer. */
  readonly live: Pick<Live, 'record'>
  readonly enqueue: (tx: Transaction, notices: readonly Notice[]) => Promise<void>
  /** As `enqueue`. The result, called after the commit, resolves after the first attempt, or a second later. */
  readonly enqueueAwaited: (tx: Transaction, notices: readonly Notice[]) => Promise<FirstAttempts>
  /** After the commit, what is due is delivered. */
  readonly wakeDelivery: (tx: Transaction) => void
  /** The relationship of a request that names none. */
  readonly defaultRelationship: string
  /** Requests of peers that wait for the approval of one actor's owner. */
  readonly maxPending: number
  /** Whether a request for this relationship is approved at once. */
  readonly isAutoAccepted: (relationship: string) => boolean
  /** What else goes with a relationship, before its row does. */
  readonly onEnd: (tx: Transaction, actorId: string, peerId: string) => Promise<void>
  /**
   * In the transaction in which a relationship was made anew, or one side approved: whatever was refused until then, or is
   * gone at a peer that had ended the relationship, is looked for again.
   */
  readonly onRenewed: (tx: Transaction, actorId: string, peerId: string) => Promise<void>
  /**
   * In the transaction in which the owner approved a relationship that was not approved: a peer with subscriptions
   * receives what it may see again, and what it may do.
   */
  readonly onApproved: (tx: Transaction, actor: LockedActor, trust: Trust) => Promise<void>
  /** What the peer may do is told to it, in the transaction that made the relationship another one. */
  readonly tellRights: (tx: Transaction, trust: Trust) => Promise<void>
  /** Told after the commit, once for each time that both sides came to agree. Nobody waits for it. */
  readonly onMutual: (actor: Self, peerId: string) => void
}
