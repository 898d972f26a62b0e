/** A version of a relationship, as far as an owner decides about it: a form carries the version that it was made from. */
import { hash } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { Override } from './override-store.ts'
import type { Trust } from './trust.ts'

/** Members that change by themselves, such as the last contact, are left out. */
export function trustVersion(trust: Trust, override: Override | null): string {
  const { peerId, relationship, baseuri, type, description, approved, verified } = trust
  return short([peerId, relationship, baseuri, type, description, approved, verified, override?.rules ?? null])
}

/** Version of what a peer may do: the trust type and the owner's override. Approval leaves it as it is. */
export function rightsVersion({ peerId, relationship }: Trust, override: Override | null): string {
  return short([peerId, relationship, override?.rules ?? null])
}

/** @throws ServiceError `conflict` when the form was made from another version. Null: the form names none. */
export function requireVersion(expected: string | null, stored: string): void {
  if (expected === null || expected === stored) return
  throw new ServiceError('conflict', 'This connection changed while you were deciding. Review it before you continue.')
}

/** As `requireVersion`, for the rights. @throws ServiceError `conflict` */
export function requireRightsVersion(expected: string | null, stored: string): void {
  if (expected === null || expected === stored) return
  throw new ServiceError('conflict', 'This access changed while you were editing. Nothing was saved.')
}

function short(facts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(facts), 'base64url').slice(0, 22)
}
