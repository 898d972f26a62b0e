/** Decides whether a refresh token is rotated, refused or revoked: one pure rule for sessions and clients. */

/** State of a stored refresh token. All times are Unix milliseconds. */
export interface RefreshState {
  readonly expiresAt: number
  /** Time of the first use. Null for an unused token. */
  readonly usedAt: number | null
  /** Number of repeated responses within the grace window. */
  readonly graceAnswers: number
  /** True for a token imported from another service. Its other tokens are unknown, so reuse revokes this token only. */
  readonly isLegacy: boolean
  /** Fixed end of the chain, which refreshing does not extend. */
  readonly chainEndsAt: number
}

export interface RefreshPolicy {
  /** Time after the first use in which the token works again, because the first response may have been lost. */
  readonly graceMs: number
  /** Maximum number of repeated responses for one token. */
  readonly maxGraceAnswers: number
  /** Time after the first use in which a reuse of the token is detected as theft. */
  readonly reuseWindowMs: number
}

export const refreshPolicy: RefreshPolicy = {
  graceMs: 60_000,
  // All windows of one browser may wake at once and present the same token.
  maxGraceAnswers: 100,
  reuseWindowMs: 172_800_000,
}

export type RefreshVerdict =
  | { readonly answer: 'rotate'; readonly use: 'first' | 'grace' }
  | {
      readonly answer: 'refuse'
      readonly because: 'expired' | 'exhausted' | 'reused'
      /** Revokes every token of the chain, or only the presented one. */
      readonly revoke: 'nothing' | 'chain' | 'token'
    }

/**
 * Judges a presented refresh token. Windows include their end: second 60 is grace, and the end of day 2 is reuse
 * (WIRE-TOKEN-01).
 *
 * @param now Unix milliseconds, from the clock that wrote the state.
 */
export function judgeRefresh(state: RefreshState, now: number, policy: RefreshPolicy): RefreshVerdict {
  if (now > state.chainEndsAt) return expired
  if (state.usedAt === null) return now <= state.expiresAt ? { answer: 'rotate', use: 'first' } : expired
  const age = now - state.usedAt
  if (age <= policy.graceMs) {
    return state.graceAnswers < policy.maxGraceAnswers
      ? { answer: 'rotate', use: 'grace' }
      : // Not a theft: a caller with 100 responses already has the tokens.
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
