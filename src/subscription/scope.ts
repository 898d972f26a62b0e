/** A subscription of a peer to this actor. */

/** What is listened to. An empty part covers everything below the one before it. */
export interface Scope {
  readonly target: string
  readonly subtarget: string
  readonly resource: string
}

export interface InboundSubscription extends Scope {
  readonly actorId: string
  readonly peerId: string
  readonly subscriptionId: string
  /** `high` sends changes, `low` their addresses, anything else nothing: the peer polls. */
  readonly granularity: string
  /** The last number produced. */
  readonly sequence: number
  /** The last number that needs no further attempt. */
  readonly settled: number
  /** Nothing is sent to a stopped one until somebody redrives it. */
  readonly state: 'live' | 'stopped'
  /** Unix milliseconds since when every attempt failed; null after one that did not. */
  readonly failingSince: number | null
  readonly createdAt: number
}

/** Whether anything is sent at all. */
export function isTold(granularity: string): granularity is 'high' | 'low' {
  return granularity === 'high' || granularity === 'low'
}
