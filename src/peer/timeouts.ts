/** Timeouts of a call to a peer, and the durations that follow from them. */

export interface PeerTimeouts {
  /** Until the request is sent, in seconds. */
  readonly connectSeconds: number
  /** From then to the last byte of the response, in seconds. */
  readonly readSeconds: number
}

/** All in milliseconds. */
export interface PeerTimes {
  /** One call, from its start to its outcome. */
  readonly callMs: number
  /** Lease of a subscription queue: one call, and the time until the call starts. */
  readonly leaseMs: number
  /** Remaining time of that lease with which a call may still start, so that the call ends within the lease. */
  readonly leastLeaseMs: number
  /** Lease of a notice: settling a renewal takes two calls. */
  readonly noticeLeaseMs: number
  /** Lease of a subscription that is fetched. A large actor takes many calls. */
  readonly fetchLeaseMs: number
  /** Limit for crossing requests: a request that the peer sent before it had a response arrives within this time. */
  readonly crossingMs: number
  /** Time for a verified request to take effect at the peer, and for a call to the peer. */
  readonly closingMs: number
  /** Duration of a handshake: the request, and three call-backs of the peer before it responds. */
  readonly handshakeMs: number
}

/** From the end of a call to the stored outcome. */
const settleMs = 5000
/** A claimed item waits in the process for about half of this at most (`patienceMs` of the worker). */
const queueMs = 10_000
/** One call with the default timeouts. The peer may use these, even when the configured ones are shorter. */
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
