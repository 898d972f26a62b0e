/** Builds new records of relationships. */
import { hashSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import { seal } from '../secret/sealed.ts'
import { bindingOf, trustSecret, trustToken } from '../secret/sealed-columns.ts'
import type { OwnRequest, Trust } from './trust.ts'

interface Beginning {
  readonly actorId: string
  readonly peerId: string
  readonly baseuri: string
  readonly type: string
  readonly relationship: string
  readonly description: string
  readonly secret: string
  /** The initiator sends its token to the receiver beforehand. Default: a random token. */
  readonly token?: string
  readonly approved: boolean
  readonly peerApproved: boolean
  readonly verified: boolean
  readonly ownRequest: OwnRequest | null
  readonly now: number
}

export function newTrust(ring: KeyRing, beginning: Beginning): Trust {
  const { secret, token = randomPassphrase(), now, ...rest } = beginning
  return {
    ...rest,
    ...sealedSecret(ring, rest, secret),
    verificationToken: sealedToken(ring, rest, token),
    establishedVia: 'trust',
    facts: {},
    nickname: '',
    approvedUntil: null,
    createdAt: now,
    lastAccessed: now,
    lastConnectedVia: 'trust',
  }
}

/** The address that a trust request names. The key of the home at an earlier address says nothing about the one there. */
export function atAddress(
  { baseuri: known, facts }: Pick<Trust, 'baseuri' | 'facts'>,
  baseuri: string,
): Pick<Trust, 'baseuri' | 'facts'> {
  if (baseuri === known) return { baseuri, facts }
  const { move_key: _, ...others } = facts
  return { baseuri, facts: others }
}

export function sealedSecret(
  ring: KeyRing,
  { actorId, peerId }: Pick<Trust, 'actorId' | 'peerId'>,
  secret: string,
): Pick<Trust, 'secret' | 'secretHash'> {
  return { secret: seal(ring, secret, bindingOf(trustSecret, actorId, peerId)), secretHash: hashSecret(secret) }
}

export function sealedToken(
  ring: KeyRing,
  { actorId, peerId }: Pick<Trust, 'actorId' | 'peerId'>,
  token: string,
): Trust['verificationToken'] {
  return seal(ring, token, bindingOf(trustToken, actorId, peerId))
}
