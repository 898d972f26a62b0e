/** A subscription of this actor to a peer. */
import type { Scope } from './inbound.ts'

export interface OutboundSubscription extends Scope {
  readonly actorId: string
  readonly peerId: string
  /** Minted by the peer. */
  readonly subscriptionId: string
  readonly granularity: string
  /** The last number applied. */
  readonly sequence: number
  /** Unix milliseconds at which everything is fetched anew, because something is missing; null when nothing is. */
  readonly gapDueAt: number | null
  /** The next synchronisation fetches the whole: the copy is known to be wrong. */
  readonly resyncPending: boolean
  /** How often fetching failed in a row. */
  readonly attempts: number
  readonly createdAt: number
}

export type OutboundKey = Pick<OutboundSubscription, 'actorId' | 'peerId' | 'subscriptionId'>

/** A callback that came before the ones it follows, or one that is ready to be applied. */
export interface Numbered {
  readonly sequence: number
  /** JSON text of `HeldBody`. */
  readonly body: string
}
