/**
 * Proofs that two processes have the same keys. `troupe doctor address` uses them to recognize its own service behind the
 * public address.
 */
import { createHmac, hkdfSync, type KeyObject } from 'node:crypto'
import { sameSecret } from './hash.ts'
import type { KeyRing } from './key-ring.ts'

/** The content of a proof. With the address, another server cannot pass on the proof of the service. */
export interface IdentityChallenge {
  readonly challenge: string
  /** `BASE_URL` of the service. */
  readonly baseUrl: string
}

/** The proof for a challenge, by the key that seals. It reveals nothing about the key. */
export function identityProof({ keys, currentId }: KeyRing, challenge: IdentityChallenge): string {
  const key = keys.get(currentId)
  if (key === undefined) throw new Error('Cannot prove the identity: the key ring has no current key')
  return proofBy(key, challenge)
}

/** True when one of the keys made the proof. The other process may have a newer or an older current key. */
export function provesIdentity({ keys }: KeyRing, challenge: IdentityChallenge, proof: string): boolean {
  return [...keys.values()].some((key) => sameSecret(proof, proofBy(key, challenge)))
}

/** Derives a separate key (RFC 5869), because callers choose the challenge. */
function proofBy(key: KeyObject, { challenge, baseUrl }: IdentityChallenge): string {
  const own = Buffer.from(hkdfSync('sha256', key, '', 'troupe identity v2', 32))
  return createHmac('sha256', own).update(`${challenge}\n${baseUrl}`).digest('base64url')
}
