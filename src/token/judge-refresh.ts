/** What presenting a refresh token leads to: one pure rule for sessions and for clients. */

/** A refresh token as it is stored. Every time is in Unix milliseconds. */
export interface RefreshState {
  readonly expiresAt: number
  /** When it was presented first; null while it was not. */
  readonly usedAt: number | null
  /** How often it was answered since, within the grace window. */
  readonly graceAnswers: number
  /** It came from elsewhere without a family: nothing is known of what else its owner holds. */
  readonly isLegacy: boolean
  /** When its chain ends, however often it is refreshed. */
  readonly chainEndsAt: number
}

export interface RefreshPolicy {
  /** How long after the first use the same token is answered again, because the first answer may have been lost. */
  readonly graceMs: number
  /** How many answers of that kind one token gets. */
  readonly mostGraceAnswers: number
  /** How long after its first use a token is remembered, so that its theft is noticed. */
  readonly reuseWindowMs: number
}

export const refreshPolicy: RefreshPolicy = {
  graceMs: 60_000,
  // As many windows of one browser may wake at once and find the same token.
  mostGraceAnswers: 100,
  reuseWindowMs: 172_800_000,
}

export type RefreshVerdict =
  | { readonly answer: 'rotate'; readonly use: 'first' | 'grace' }
  | {
      readonly answer: 'refuse'
      readonly because: 'expired' | 'exhausted' | 'reused'
      /** What is revoked besides: every token of the chain, or the presented one alone. */
      readonly revoke: 'nothing' | 'chain' | 'token'
    }

/**
 * The window borders belong to the window: the 60th second is grace, the second day is reuse (WIRE-TOKEN-01).
 *
 * @param now Unix milliseconds, by the clock that wrote the state.
 */
export function judgeRefresh(state: RefreshState, now: number, policy: RefreshPolicy): RefreshVerdict {
  if (now > state.chainEndsAt) return expired
  if (state.usedAt === null) return now <= state.expiresAt ? { answer: 'rotate', use: 'first' } : expired
  const age = now - state.usedAt
  if (age <= policy.graceMs) {
    return state.graceAnswers < policy.mostGraceAnswers
      ? { answer: 'rotate', use: 'grace' }
      : // Not a theft: whoever asks so often has the answers already.
        { answer: 'refuse', because: 'exhausted', revoke: 'nothing' }
  }
  if (age > policy.reuseWindowMs) return expired
  return { answer: 'refuse', because: 'reused', revoke: state.isLegacy ? 'token' : 'chain' }
}

const expired: RefreshVerdict = { answer: 'refuse', because: 'expired', revoke: 'nothing' }

/** @param now Unix milliseconds. */
export function judgeAccess({ expiresAt }: { readonly expiresAt: number }, now: number): 'alive' | 'expired' {
  return now <= expiresAt ? 'alive' : 'expired'
}
