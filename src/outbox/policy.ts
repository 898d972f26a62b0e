/** Retry policy and circuit breaker for calls to peers. Pure functions. Times are Unix milliseconds. */
import { isAccepted, isIngressPage } from '../peer/ingress.ts'
import type { PeerOutcome } from '../peer/peer-client.ts'

export interface DeliveryPolicy {
  /** Retries a call with an unknown outcome, once. */
  readonly retryUnknown: boolean
  /** Failures in a row that open the circuit of a peer. */
  readonly circuitThreshold: number
  readonly circuitCooldownMs: number
  /** Time of failures after which delivery to a peer stops until a redrive. */
  readonly giveUpAfterMs: number
}

/** Bounds of the exponential backoff. */
const firstWaitMs = 1000
const longestWaitMs = 60_000
/** A peer that has moved, and never states its new address, costs one request an hour. */
const longestMovedMs = 3_600_000
/** Upper bound for `Retry-After`. */
const longestRetryAfterMs = 3_600_000

/** The longest regular delay. A longer one means that the clock was set back since. */
export function longestPutOffMs({ circuitCooldownMs }: DeliveryPolicy): number {
  return Math.max(longestRetryAfterMs, circuitCooldownMs)
}

export interface Attempted {
  readonly outcome: PeerOutcome
  readonly now: number
  /** Earlier attempts for the same message. */
  readonly attempts: number
  /** Number of these attempts with an unknown outcome. */
  readonly uncertain: number
  /** Start of the current series of failures. Null after a success. */
  readonly failingSince: number | null
  /** From 0, and below 1. */
  readonly random: number
}

export type DeliveryVerdict =
  | { readonly kind: 'delivered' }
  /** Final for this message. The next message is sent. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'retry'; readonly at: number; readonly reason: string }
  /** Final for all waiting messages. */
  | { readonly kind: 'stop'; readonly reason: string }

/** The result of an attempt, classified for the decision. */
type Ending =
  | { readonly kind: 'accepted' }
  /** The peer refused the message. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'gone'; readonly reason: string }
  /** The message had no effect. A retry may succeed. */
  | { readonly kind: 'not now'; readonly reason: string; readonly retryAfterMs: number }
  /** The peer has moved, and its new address is not known yet. Its statement brings the address, and makes the message due. */
  | { readonly kind: 'moved'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }
  /** A response that is neither acceptance nor refusal. A retry would not change it. */
  | { readonly kind: 'odd'; readonly reason: string }

/** Status codes of requests that the peer did not process. */
const notNow: ReadonlySet<number> = new Set([408, 425, 429, 503])

/** Status codes of pages before a service: its route is missing, or a firewall lets no caller through. Both end. */
const ofIngress: ReadonlySet<number> = new Set([401, 403, 404, 410])

/** Whether the response is a page of a proxy or an ingress, which proves nothing about the message. */
function isOnlyPage(outcome: Extract<PeerOutcome, { kind: 'answered' }>): boolean {
  return outcome.status < 300 || (ofIngress.has(outcome.status) && isIngressPage(outcome))
}

function endingOf(outcome: PeerOutcome, now: number): Ending {
  switch (outcome.kind) {
    case 'unreached':
      return { kind: 'not now', reason: outcome.reason, retryAfterMs: 0 }
    case 'unknown':
      return { kind: 'unknown', reason: outcome.reason }
    case 'answered': {
      const { status, headers } = outcome
      const reason = `The peer answered ${status}`
      if (isAccepted(outcome)) return { kind: 'accepted' }
      if (isOnlyPage(outcome)) return { kind: 'not now', reason: `${reason} with a page`, retryAfterMs: 0 }
      if (status === 410) return { kind: 'gone', reason }
      if (status === 308) return { kind: 'moved', reason }
      if (notNow.has(status)) {
        return { kind: 'not now', reason, retryAfterMs: parseRetryAfter(headers['retry-after'], now) ?? 0 }
      }
      if (status >= 400 && status < 500) return { kind: 'refused', reason }
      return status >= 500 ? { kind: 'unknown', reason } : { kind: 'odd', reason }
    }
    default:
      return outcome satisfies never
  }
}

/** Whether the peer processed the message and refused it. */
export function isRefusal(outcome: PeerOutcome): boolean {
  const { kind } = endingOf(outcome, 0)
  return kind === 'refused' || kind === 'gone'
}

/** Decides what follows from an attempt to deliver a diff. */
export function judgeDelivery(attempted: Attempted, policy: DeliveryPolicy): DeliveryVerdict {
  const ending = endingOf(attempted.outcome, attempted.now)
  switch (ending.kind) {
    case 'accepted':
      return { kind: 'delivered' }
    case 'refused':
    case 'odd':
      return { kind: 'failed', reason: ending.reason }
    case 'gone':
      return { kind: 'stop', reason: ending.reason }
    case 'unknown':
      return policy.retryUnknown && attempted.uncertain === 0
        ? retry(attempted, ending.reason, 0, policy)
        : { kind: 'failed', reason: ending.reason }
    case 'not now':
      return retry(attempted, ending.reason, ending.retryAfterMs, policy)
    case 'moved':
      return retry(attempted, ending.reason, 0, policy, longestMovedMs)
    default:
      return ending satisfies never
  }
}

/** Decides what follows from an attempt to deliver a notice. Notices are idempotent, so outcomes that say nothing are retried. */
export function judgeNotice(attempted: Attempted, policy: DeliveryPolicy): DeliveryVerdict {
  const ending = endingOf(attempted.outcome, attempted.now)
  switch (ending.kind) {
    case 'accepted':
      return { kind: 'delivered' }
    case 'refused':
    case 'gone':
      return { kind: 'failed', reason: ending.reason }
    // No service answers a notice with a redirect, but an ingress does.
    case 'odd':
    case 'unknown':
      return retry(attempted, ending.reason, 0, policy)
    case 'not now':
      return retry(attempted, ending.reason, ending.retryAfterMs, policy)
    case 'moved':
      return retry(attempted, ending.reason, 0, policy, longestMovedMs)
    default:
      return ending satisfies never
  }
}

function retry(
  { now, attempts, failingSince, random }: Attempted,
  reason: string,
  leastMs: number,
  policy: DeliveryPolicy,
  longestMs = longestWaitMs,
): DeliveryVerdict {
  if (failingSince !== null && now - failingSince >= policy.giveUpAfterMs) return { kind: 'stop', reason }
  return { kind: 'retry', at: now + Math.max(leastMs, backoffMs(attempts, random, longestMs)), reason }
}

/** Exponential backoff with full jitter. */
export function backoffMs(attempts: number, random: number, longestMs = longestWaitMs): number {
  return Math.round(random * Math.min(longestMs, firstWaitMs * 2 ** Math.min(attempts, 30)))
}

/** Bounds of the time until a copy in doubt is repaired by a resync. */
const firstRepairMs = 60_000
const firstRepairOfStoppedMs = 3_600_000
const longestRepairMs = 86_400_000

/** Milliseconds until the next resync of a copy in doubt. It doubles with each failed resync, up to a day, and never ends. */
export function repairDelayMs(failures: number, random: number, isStopped: boolean): number {
  const first = isStopped ? firstRepairOfStoppedMs : firstRepairMs
  return Math.round(Math.min(longestRepairMs, first * 2 ** Math.min(failures, 30)) * (0.5 + random / 2))
}

/** Milliseconds from now, bounded. Null: neither a number of seconds nor an HTTP date. */
export function parseRetryAfter(value: string | undefined, now: number): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, longestRetryAfterMs)
  // Date.parse accepts more than HTTP dates, such as "-5".
  const date = /^[A-Z][a-z]{2}[a-z]*,? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : Math.min(Math.max(0, date - now), longestRetryAfterMs)
}

/** Circuit breaker of a peer. Open: no calls until `openUntil`, then one probe decides. */
export interface Circuit {
  /** Failures in a row. */
  readonly failures: number
  readonly openUntil: number | null
}

const closedCircuit: Circuit = { failures: 0, openUntil: null }

/** The circuit after an attempt. A refusal closes the circuit, because the peer can be reached. */
export function circuitAfter(circuit: Circuit, outcome: PeerOutcome, now: number, policy: DeliveryPolicy): Circuit {
  const ending = endingOf(outcome, now)
  if (ending.kind === 'accepted' || ending.kind === 'refused' || ending.kind === 'gone') return closedCircuit
  const failures = circuit.failures + 1
  if (circuit.openUntil === null && failures < policy.circuitThreshold) return { failures, openUntil: null }
  const patienceMs = ending.kind === 'not now' ? ending.retryAfterMs : 0
  return { failures, openUntil: now + Math.max(policy.circuitCooldownMs, patienceMs) }
}

/** Whether the circuit allows a due attempt. */
export function judgeCircuit({ openUntil }: Circuit, now: number, policy: DeliveryPolicy): 'closed' | 'open' | 'probe' {
  if (openUntil === null) return 'closed'
  return openUntil > now && openUntil - now <= longestPutOffMs(policy) ? 'open' : 'probe'
}
