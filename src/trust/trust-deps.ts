/** Dependencies that the files of this room share. */
import type { Actor } from '../actor/actor.ts'
import type { ActorHandle } from '../app/actor-handle.ts'
import type { MailPort } from '../app/background/mail-port.ts'
import type { Registry } from '../app/registry.ts'
import type { Notice } from '../outbox/notice.ts'
import type { FirstAttempts } from '../outbox/notices.ts'
import type { Live } from '../live/live.ts'
import type { Log } from '../observe/log.ts'
import type { PeerTimes } from '../peer/timeouts.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { AfterCommit, LockedActor, Queries, Store, Transaction } from '../store/store.ts'
import type { TrustCalls } from './handshake/peer-calls.ts'
import type { Trust } from './trust.ts'

export type Self = Pick<Actor, 'id' | 'creator' | 'kind'>

/** Approves relationships before they are requested, for requests that carry a code. */
export interface AdvanceApprovals {
  /** Returns the open approval with this code. Null: the code is not valid. */
  readonly find: (q: Queries, actorId: string, code: string) => Promise<AdvanceApproval | null>
}

export interface AdvanceApproval {
  /** Name of the approved trust type. */
  readonly relationship: string
  /** Nickname that the connection gets. Empty: none. */
  readonly nickname: string
  /** Role of the invited member of a group. Null: another relationship. */
  readonly role: string | null
  /** Ends the approval, in the transaction that approves the relationship. */
  readonly use: (tx: Transaction) => Promise<unknown>
}

export interface TrustDeps {
  readonly store: Store & { readonly afterCommit: AfterCommit }
  readonly keyRing: KeyRing
  readonly registry: Registry
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
  readonly times: PeerTimes
  readonly baseUrl: string
  readonly mail: Pick<MailPort, 'event'>
  readonly advanceApprovals: readonly AdvanceApprovals[]
  /** The type of an actor, as peers receive it. */
  readonly typeOf: (actor: Pick<Self, 'kind'>) => string
  readonly handleOf: (actor: Self) => ActorHandle
  readonly calls: TrustCalls
  /** The public key of a peer at another address, when signed notices lead there from its known home. Null: they do not. */
  readonly movedKey: (
    known: { readonly address: string; readonly actorId: string; readonly publicKey: string | null },
    to: string,
  ) => Promise<string | null>
  /** Is notified of every change of a relationship, by its peer. */
  readonly live: Pick<Live, 'record'>
  readonly enqueue: (tx: Transaction, notices: readonly Notice[]) => Promise<void>
  /** Like `enqueue`. The result, called after the commit, resolves after the first attempt or after a second. */
  readonly enqueueAwaited: (tx: Transaction, notices: readonly Notice[]) => Promise<FirstAttempts>
  /** Stores the end of an approval, in the transaction of the approval. */
  readonly scheduleExpiry: (tx: Transaction, key: Pick<Trust, 'actorId' | 'peerId'>, at: number) => Promise<void>
  /** Starts the delivery of due notices after the commit. */
  readonly wakeDelivery: (tx: Transaction, actorId: string) => void
  /** Trust type of a request that names none. */
  readonly defaultRelationship: string
  /** Limit of peers' requests that wait for the approval of one actor's owner. */
  readonly maxPending: number
  /** Whether requests for this trust type are approved at once. */
  readonly isAutoAccepted: (relationship: string) => boolean
  /** Deletes everything else that depends on a relationship, before its row is deleted. */
  readonly onEnd: (tx: Transaction, actorId: string, peerId: string) => Promise<void>
  /**
   * Runs in the transaction that renewed a relationship or stored an approval of one side. Schedules another attempt
   * for data that the peer refused before, or that was gone while the peer had ended the relationship.
   */
  readonly onRenewed: (tx: Transaction, actorId: string, peerId: string) => Promise<void>
  /**
   * Runs in the transaction in which the owner first approved a relationship. A peer with subscriptions then receives
   * the data and the permissions that it has now.
   */
  readonly onApproved: (tx: Transaction, actor: LockedActor, trust: Trust) => Promise<void>
  /** Runs in the transaction that stored the approval of an invited peer. */
  readonly onInvited: (tx: Transaction, actor: LockedActor, trust: Trust, approval: AdvanceApproval) => Promise<void>
  /** Whether an owner must choose this trust type, because it reaches beyond data. */
  readonly needsConfirmation: (relationship: string) => boolean
  /** Whether the relationships of this trust type are those of members of the group. */
  readonly isOfMembers: (relationship: string, group: Pick<Self, 'kind'>) => boolean
  /** Whether a change of the trust type would begin or end a membership of the group. */
  readonly changesMembership: (before: string, after: string, group: Pick<Self, 'kind'>) => boolean
  /** Called after the commit when the owner approved or declined the request of a peer. */
  readonly onDecided: (trust: Trust, decided: 'approved' | 'denied') => void
  /** Notifies the peer of its permissions, in the transaction that changed its trust type. */
  readonly onTypeChanged: (tx: Transaction, actor: LockedActor, before: Trust, after: Trust) => Promise<void>
  /** The owner no longer approves the relationship. Runs in that transaction. */
  readonly onApprovalEnded: (tx: Transaction, actor: LockedActor, before: Trust) => Promise<void>
  /** Called after the commit, each time the approval of both sides becomes complete. The caller does not wait for it. */
  readonly onMutual: (actor: Self, peerId: string) => void
}
