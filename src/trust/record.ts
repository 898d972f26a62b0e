/** The record of a relationship, as the API shows it. */
import type { TrustRecord } from '../app/trust-record.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open } from '../secret/sealed.ts'
import { bindingOf, trustSecret, trustToken } from '../secret/sealed-columns.ts'
import type { Trust } from './trust.ts'

export interface TrustSecrets {
  readonly secret: string
  readonly verification_token: string
  readonly verificationToken: string
}

/** The fields that every viewer of the relationship may see, without secret and token. */
export function trustRecord(trust: Trust): TrustRecord {
  const lastAccessed = recordTime(trust.lastAccessed)
  return {
    id: trust.actorId,
    peerid: trust.peerId,
    baseuri: trust.baseuri,
    type: trust.type,
    relationship: trust.relationship,
    desc: trust.description,
    approved: trust.approved,
    ...(trust.approvedUntil === null ? {} : { approved_until: recordTime(trust.approvedUntil) }),
    peer_approved: trust.peerApproved,
    verified: trust.verified,
    established_via: trust.establishedVia,
    created_at: recordTime(trust.createdAt),
    last_accessed: lastAccessed,
    last_connected_at: lastAccessed,
    last_connected_via: trust.lastConnectedVia,
    ...trust.facts,
  }
}

export function secretOf(ring: KeyRing, trust: Pick<Trust, 'actorId' | 'peerId' | 'secret'>): string {
  return open(ring, trust.secret, bindingOf(trustSecret, trust.actorId, trust.peerId))
}

/** The verification token, in both spellings that peers use. */
export function tokensOf(
  ring: KeyRing,
  trust: Pick<Trust, 'actorId' | 'peerId' | 'verificationToken'>,
): Omit<TrustSecrets, 'secret'> {
  const token = open(ring, trust.verificationToken, bindingOf(trustToken, trust.actorId, trust.peerId))
  return { verification_token: token, verificationToken: token }
}

/** A time in a record, as the reference writes it. */
export function recordTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000+00:00')
}
