/** The relationship that an AI client's sign-in makes for its owner (WIRE-TRUST-11). */
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import type { Transaction } from '../store/store.ts'
import { newTrust } from '../trust/new-trust.ts'
import { findTrust, insertTrust } from '../trust/trust-store.ts'

/** Finds or makes it, in the actor's turn; one that exists keeps its rights. Its secret is told to nobody. */
export async function ensureInteractiveTrust(
  tx: Transaction,
  keyRing: KeyRing,
  wanted: { readonly actorId: string; readonly address: string; readonly relationship: string; readonly now: number },
): Promise<void> {
  const { actorId, address, relationship, now } = wanted
  const peerId = `oauth2_interactive:${address.replaceAll('@', '_at_').replaceAll('.', '_dot_')}`
  if ((await findTrust(tx, actorId, peerId)) !== null) return
  const trust = newTrust(keyRing, {
    actorId,
    peerId,
    baseuri: '',
    type: 'mcp',
    relationship,
    description: `Sign-in of ${address}`,
    secret: randomPassphrase(),
    approved: true,
    peerApproved: true,
    verified: true,
    ownRequest: null,
    now,
  })
  await insertTrust(tx, {
    ...trust,
    establishedVia: 'oauth2_interactive',
    facts: { peer_identifier: address },
    lastConnectedVia: 'oauth',
  })
}
