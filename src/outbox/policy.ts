/** What an attempt to tell a peer something leads to. Pure: nothing is read but what is given. Times are Unix milliseconds. */
import type { PeerOutcome } from '../peer/peer-client.ts'

export interface DeliveryPolicy {
  /** An attempt whose outcome nobody knows is repeated, once. */
  readonly retryUnknown: boolean
  /** So many failures in a row open the circuit of a peer. */
  readonly circuitThreshold: number
  readonly circuitCooldownMs: number
  /** A peer that failed for so long is told nothing more until somebody asks for it. */
  readonly giveUpAfterMs: number
}

/** The bounds of the wait before the n-th repetition: it doubles from the first, and is drawn at random below that. */
const firstWaitMs = 1000
const longestWaitMs = 60_000
/** A peer may ask for patience, but not for ever. */
const longestRetryAfterMs = 3_600_000

/** Nothing waits longer than this, so what seems to was put off by a clock that has been set back since. */
export function longestPutOffMs({ circuitCooldownMs }: DeliveryPolicy): number {
  return Math.max(longestRetryAfterMs, circuitCooldownMs)
}

export interface Attempted {
  readonly outcome: PeerOutcome
  readonly now: number
  /** Of the same message, before this one. */
  readonly attempts: number
  /** How many of them had an outcome that nobody knows. */
  readonly uncertain: number
  /** Since when every attempt failed; null when this would be the first. */
  readonly failingSince: number | null
  /** From 0 to below 1. */
  readonly random: number
}

export type Verdict =
  | { readonly kind: 'delivered' }
  /** Final for this message; the next one goes on. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'retry'; readonly at: number; readonly reason: string }
  /** Final for everything that waits. */
  | { readonly kind: 'stop'; readonly reason: string }

/** How an attempt ended, in the terms of the decision. */
type Ending =
  | { readonly kind: 'accepted' }
  /** The peer answered and does not want it. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'gone'; readonly reason: string }
  /** It certainly had no effect, and may have one later. */
  | { readonly kind: 'not now'; readonly reason: string; readonly retryAfterMs: number }
  | { readonly kind: 'unknown'; readonly reason: string }
  /** An answer that is neither acceptance nor refusal, and that a repetition would not change. */
  | { readonly kind: 'odd'; readonly reason: string }

/** Answers that say the request was not looked at. */
const notNow: ReadonlySet<number> = new Set([408, 425, 429, 503])

function endingOf(outcome: PeerOutcome, now: number): Ending {
  switch (outcome.kind) {
    case 'unreached':
      return { kind: 'not now', reason: outcome.reason, retryAfterMs: 0 }
    case 'unknown':
      return { kind: 'unknown', reason: outcome.reason }
    case 'answered': {
      const { status, headers } = outcome
      const reason = `The peer answered ${status}`
      if (status >= 200 && status < 300) return { kind: 'accepted' }
      if (status === 410) return { kind: 'gone', reason }
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

/** The peer answered, looked at it, and does not want it. */
export function isRefusal(outcome: PeerOutcome): boolean {
  const { kind } = endingOf(outcome, 0)
  return kind === 'refused' || kind === 'gone'
}

/** What a change that was sent to a subscription leads to. */
export function judgeDelivery(attempted: Attempted, policy: DeliveryPolicy): Verdict {
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
    default:
      return ending satisfies never
  }
}

/** What a notice leads to: it says the same however often it arrives, so nothing but an answer ends it. */
export function judgeNotice(attempted: Attempted, policy: DeliveryPolicy): Verdict {
  const ending = endingOf(attempted.outcome, attempted.now)
  switch (ending.kind) {
    case 'accepted':
      return { kind: 'delivered' }
    case 'refused':
    case 'odd':
    case 'gone':
      return { kind: 'failed', reason: ending.reason }
    case 'unknown':
      return retry(attempted, ending.reason, 0, policy)
    case 'not now':
      return retry(attempted, ending.reason, ending.retryAfterMs, policy)
    default:
      return ending satisfies never
  }
}

function retry(
  { now, attempts, failingSince, random }: Attempted,
  reason: string,
  leastMs: number,
  policy: DeliveryPolicy,
): Verdict {
  if (failingSince !== null && now - failingSince >= policy.giveUpAfterMs) return { kind: 'stop', reason }
  return { kind: 'retry', at: now + Math.max(leastMs, backoffMs(attempts, random)), reason }
}

/** Exponential with full jitter. */
export function backoffMs(attempts: number, random: number): number {
  return Math.round(random * Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(attempts, 30)))
}

/** Milliseconds from now, within bounds; null for what is neither a number of seconds nor a date. */
export function parseRetryAfter(value: string | undefined, now: number): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, longestRetryAfterMs)
  // Date.parse takes far more than HTTP dates, "-5" among it.
  const date = /^[A-Z][a-z]{2}[a-z]*,? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : Math.min(Math.max(0, date - now), longestRetryAfterMs)
}

/** Calls to one peer. Open: nothing is sent before `openUntil`; then one attempt decides. */
export interface Circuit {
  /** In a row. */
  readonly failures: number
  readonly openUntil: number | null
}

const closedCircuit: Circuit = { failures: 0, openUntil: null }

/** After an attempt; `circuit` is as it was before. A peer that answers is there, whatever it thinks of the message. */
export function circuitAfter(circuit: Circuit, outcome: PeerOutcome, now: number, policy: DeliveryPolicy): Circuit {
  const ending = endingOf(outcome, now)
  if (ending.kind === 'accepted' || ending.kind === 'refused' || ending.kind === 'gone') return closedCircuit
  const failures = circuit.failures + 1
  if (circuit.openUntil === null && failures < policy.circuitThreshold) return { failures, openUntil: null }
  const patienceMs = ending.kind === 'not now' ? ending.retryAfterMs : 0
  return { failures, openUntil: now + Math.max(policy.circuitCooldownMs, patienceMs) }
}

/** What the circuit says to an attempt that is due. */
export function judgeCircuit({ openUntil }: Circuit, now: number, policy: DeliveryPolicy): 'closed' | 'open' | 'probe' {
  if (openUntil === null) return 'closed'
  return openUntil > now && openUntil - now <= longestPutOffMs(policy) ? 'open' : 'probe'
}
