/** The numbers in the navigation of every page of the owner: waiting decisions and failing subscriptions. */
import type { Approvals } from '../../operation/approvals.ts'
import type { Publications } from '../../publication/publications.ts'
import type { PasswordAccess } from '../../sign-in/password-access.ts'
import type { Trusts } from '../../trust/trusts.ts'
import type { NavigationCounts } from './values.ts'

export interface CountDeps {
  readonly trusts: Trusts
  readonly approvals: Approvals
  readonly passwordAccess: PasswordAccess
  readonly publications: Publications
}

/** Counts end here, one above the largest number that pages show. */
const maxCounted = 100

/** Counts with a constant number of statements. A failed count fails the page, because zero would be untrue. */
export async function countsOf(
  { trusts, approvals, passwordAccess, publications }: CountDeps,
  actorId: string,
): Promise<NavigationCounts> {
  const [waiting, calls, hasPendingAccess, failing] = await Promise.all([
    trusts.countPending(actorId),
    approvals.countWaiting(actorId, maxCounted),
    passwordAccess.hasPending(actorId),
    publications.countFailing(actorId, maxCounted),
  ])
  return {
    waiting_count: waiting,
    approval_count: calls,
    password_count: hasPendingAccess ? 1 : 0,
    failing_count: failing,
  }
}

/** The number of decisions that wait for the owner. */
export function openRequests({ waiting_count, approval_count, password_count }: NavigationCounts): number {
  return waiting_count + approval_count + password_count
}

/** A count as the navigation and titles show it. */
export function shownCount(count: number): string {
  return count < maxCounted ? String(count) : `${maxCounted - 1}+`
}
