/** Relationships that result from a sign-in of the owner instead of a trust request. */
import type { TrustFacts } from '../app/trust-record.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import type { Transaction } from '../store/store.ts'
import { newTrust } from './new-trust.ts'
import type { Trust } from './trust.ts'
import { insertTrust } from './trust-store.ts'

interface OauthTrust extends Pick<Trust, 'actorId' | 'peerId' | 'relationship' | 'description' | 'peerApproved'> {
  readonly establishedVia: 'oauth2_client' | 'oauth2_interactive'
  readonly facts: TrustFacts
  readonly now: number
}

/** `foo@bar.example` becomes `foo_at_bar_dot_example`. */
export function addressInPeerId(address: string): string {
  return address.replaceAll('@', '_at_').replaceAll('.', '_dot_')
}

/** Adds an approved relationship. The peer has no address, and the secret is never shown. */
export async function insertOauthTrust(tx: Transaction, ring: KeyRing, given: OauthTrust): Promise<void> {
  const { establishedVia, facts, ...beginning } = given
  const trust = newTrust(ring, {
    ...beginning,
    baseuri: '',
    type: 'mcp',
    secret: randomPassphrase(),
    approved: true,
    verified: true,
    ownRequest: null,
  })
  await insertTrust(tx, { ...trust, establishedVia, facts, lastConnectedVia: 'oauth' })
}
