/** Versions of what an owner decides about. A form carries the version that it was made from. */
import { hash } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { Override } from './override-store.ts'
import type { Trust } from './trust.ts'

/** Version of a relationship, without members that change by themselves, such as the last contact. */
export function trustVersion(trust: Trust, override: Override | null): string {
  const { peerId, relationship, baseuri, type, description, approved, approvedUntil, verified } = trust
  const approval = [approved, approvedUntil, verified]
  return short([peerId, relationship, baseuri, type, description, ...approval, override?.rules ?? null])
}

/** Version of a peer's permissions: the trust type and the owner's override, without the approval. */
export function rightsVersion({ peerId, relationship }: Trust, override: Override | null): string {
  return short([peerId, relationship, override?.rules ?? null])
}

/** @throws ServiceError `conflict` when the form was made from another version. Null: the form carries no version. */
export function requireVersion(expected: string | null, stored: string): void {
  if (expected === null || expected === stored) return
  throw new ServiceError(
    'conflict',
    'This connection changed while you were deciding. Review it before you continue.',
    {
      refusal: 'trust_changed',
    },
  )
}

/** Like `requireVersion`, for permissions. @throws ServiceError `conflict` */
export function requireRightsVersion(expected: string | null, stored: string): void {
  if (expected === null || expected === stored) return
  throw new ServiceError('conflict', 'This access changed while you were editing. Nothing was saved.', {
    refusal: 'rights_changed',
  })
}

function short(facts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(facts), 'base64url').slice(0, 22)
}
