/** Pauses and resumes a program or an API key: the owner takes the approval back for a time. */
import type { Actor } from '../actor/actor.ts'
import { ServiceError } from '../errors.ts'
import type { TrustTypes } from '../permission/trust-types.ts'
import { isApprovedAt, isProgram, type Trust } from '../trust/trust.ts'
import type { Trusts } from '../trust/trusts.ts'

export interface PauseDeps {
  readonly trusts: Pick<Trusts, 'change'>
  readonly types: Pick<TrustTypes, 'needsConfirmation'>
  /** Unix milliseconds. */
  readonly now: () => number
}

/** An approval with an end cannot be paused: the end would be lost. */
export function canPause(trust: Pick<Trust, 'approved' | 'approvedUntil'>, now: number): boolean {
  return isApprovedAt(trust, now) && trust.approvedUntil === null
}

/** Without the confirmation that its trust type needs, an approval cannot be given again by one click. */
export function canResume(
  { types }: Pick<PauseDeps, 'types'>,
  { approved, relationship }: Pick<Trust, 'approved' | 'relationship'>,
): boolean {
  return !approved && !types.needsConfirmation(relationship)
}

/**
 * Pauses (`isPaused`) or resumes a program or key. It takes effect with the next request, in every process.
 *
 * @throws ServiceError `not_found` without such a relationship, `conflict` when it cannot be paused or resumed.
 */
export async function pause(
  { trusts, types, now }: PauseDeps,
  actor: Actor,
  peerId: string,
  isPaused: boolean,
): Promise<void> {
  await trusts.change(actor, peerId, null, { approved: !isPaused }, async (before) => {
    const isPossible = isPaused ? canPause(before, now()) : canResume({ types }, before)
    if (!isProgram(before) || !isPossible)
      throw new ServiceError('conflict', `Cannot ${isPaused ? 'pause' : 'resume'} this access: its state has changed`)
  })
}
