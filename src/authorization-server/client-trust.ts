/** The relationship of an owner with a client: one for each of both, made when the owner lets it in (wire, 3.3). */
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import type { Transaction } from '../store/store.ts'
import { newTrust } from '../trust/new-trust.ts'
import type { TrustFacts } from '../trust/trust.ts'
import { findTrust, insertTrust, updateTrust } from '../trust/trust-store.ts'
import type { Client } from './client.ts'

export interface ClientRelationship {
  readonly actorId: string
  /** The owner's address, or the client's id for a client that acts for its own actor. */
  readonly identifier: string
  readonly relationship: string
  readonly now: number
}

export function clientPeerId(identifier: string, clientId: string): string {
  return `oauth2_client:${identifier.replaceAll('@', '_at_').replaceAll('.', '_dot_')}:${clientId}`
}

/**
 * Makes it, or gives an existing one the relationship that the owner chose now; what the owner granted besides stays.
 * In the actor's turn. Its secret is told to nobody.
 *
 * @returns its peer id.
 */
export async function ensureClientTrust(
  tx: Transaction,
  keyRing: KeyRing,
  client: Client,
  { actorId, identifier, relationship, now }: ClientRelationship,
): Promise<string> {
  const peerId = clientPeerId(identifier, client.clientId)
  const existing = await findTrust(tx, actorId, peerId)
  const facts = factsOf(client, identifier)
  if (existing !== null) {
    await updateTrust(tx, { ...existing, relationship, approved: true, facts: { ...existing.facts, ...facts } })
    return peerId
  }
  const trust = newTrust(keyRing, {
    actorId,
    peerId,
    baseuri: '',
    type: 'mcp',
    relationship,
    description: `OAuth2 client: ${client.name}`,
    secret: randomPassphrase(),
    approved: true,
    peerApproved: false,
    verified: true,
    ownRequest: null,
    now,
  })
  await insertTrust(tx, { ...trust, establishedVia: 'oauth2_client', facts, lastConnectedVia: 'oauth' })
  return peerId
}

function factsOf({ clientId, name }: Client, identifier: string): TrustFacts {
  return { peer_identifier: identifier, client_name: name, oauth_client_id: clientId }
}
