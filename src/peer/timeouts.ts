/** How long a call to a peer may take, and the longest times that follow from that. */

export interface PeerTimeouts {
  /** Until the request is sent, in seconds. */
  readonly connectSeconds: number
  /** From then to the last byte of the answer, in seconds. */
  readonly readSeconds: number
}

/** All in milliseconds. */
export interface PeerTimes {
  /** One call, from its start to its outcome. */
  readonly callMs: number
  /** Lease of a subscription queue: one call, and the time until the call starts. */
  readonly leaseMs: number
  /** Rest of that lease with which a call may still start, so that it ends within the lease. */
  readonly leastLeaseMs: number
  /** Lease of a notice: settling a renewal takes two calls. */
  readonly noticeLeaseMs: number
  /** Lease of a subscription that is fetched: a large actor takes many calls. */
  readonly fetchLeaseMs: number
  /** A request that the peer sent before it had the answer to another one arrives within this time. */
  readonly crossingMs: number
  /** From the proof of a request to its effect at the peer, and from asking the peer to its answer. */
  readonly closingMs: number
  /** A whole handshake: the request, and three call-backs of the peer while it is answered. */
  readonly handshakeMs: number
}

/** From the end of a call to the stored outcome. */
const settleMs = 5000
/** A claimed item waits in the process for about half of this at most (`patienceMs` of the worker). */
const queueMs = 10_000
/** One call with the default timeouts: a peer may have those, however short the configured ones are. */
const defaultCallMs = 25_000

export function peerTimes({ connectSeconds, readSeconds }: PeerTimeouts): PeerTimes {
  const callMs = (connectSeconds + readSeconds) * 1000
  const peerCallMs = Math.max(callMs, defaultCallMs)
  return {
    callMs,
    leaseMs: callMs + settleMs + queueMs,
    leastLeaseMs: callMs + settleMs,
    noticeLeaseMs: 2 * callMs + settleMs + queueMs,
    fetchLeaseMs: 12 * peerCallMs,
    crossingMs: peerCallMs,
    closingMs: 2 * peerCallMs,
    handshakeMs: 4 * peerCallMs,
  }
}
