/** The relationship that a sign-in for an AI client creates for its owner (WIRE-TRUST-11). */
import type { KeyRing } from '../secret/key-ring.ts'
import type { Transaction } from '../store/store.ts'
import { addressInPeerId, insertOauthTrust } from '../trust/oauth-trust.ts'
import { findTrust } from '../trust/trust-store.ts'

/** Creates the relationship unless it exists, in the actor's turn. An existing one keeps its rights; no peer gets the secret. */
export async function ensureInteractiveTrust(
  tx: Transaction,
  keyRing: KeyRing,
  wanted: { readonly actorId: string; readonly address: string; readonly relationship: string; readonly now: number },
): Promise<void> {
  const { actorId, address, relationship, now } = wanted
  const peerId = `oauth2_interactive:${addressInPeerId(address)}`
  if ((await findTrust(tx, actorId, peerId)) !== null) return
  await insertOauthTrust(tx, keyRing, {
    actorId,
    peerId,
    relationship,
    description: `Sign-in of ${address}`,
    peerApproved: true,
    establishedVia: 'oauth2_interactive',
    facts: { peer_identifier: address },
    now,
  })
}
