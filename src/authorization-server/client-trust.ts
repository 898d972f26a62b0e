/** The relationship of an owner with a client: one for each pair, created when the owner authorizes it (WIRE-TRUST-10). */
import { createHash } from 'node:crypto'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Transaction } from '../store/store.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import { addressInPeerId, insertOauthTrust } from '../trust/oauth-trust.ts'
import { findTrust, updateTrust } from '../trust/trust-store.ts'
import { type Client, isDocumented } from './client.ts'
import { tieTrustToClient } from './client-store.ts'
import { placeOf } from './redirect-uri.ts'

export interface ClientRelationship {
  readonly actorId: string
  /** The owner's address, or the client's id for a client that acts for its own actor. */
  readonly identifier: string
  readonly relationship: string
  /** The address to which the access is sent. Empty for a device, and for a client that acts for its own actor. */
  readonly redirectUri: string
  readonly now: number
}

/** Returns the peer id. It is a path segment, so characters with a meaning in paths are replaced. */
function clientPeerId(identifier: string, client: Pick<Client, 'clientId'>): string {
  const owner = addressInPeerId(identifier).replaceAll(/[^\w+-]/g, '_')
  return `oauth2_client:${owner}:${isDocumented(client) ? `document_${digestOf(client.clientId)}` : client.clientId}`
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/**
 * Creates the relationship, or sets the trust type of an existing one to the owner's new choice; its overrides remain.
 * Call it in the actor's turn, with the client locked. The relationship's secret is never sent.
 *
 * @returns the peer id.
 */
export async function ensureClientTrust(
  tx: Transaction,
  keyRing: KeyRing,
  client: Client,
  { actorId, identifier, relationship, redirectUri, now }: ClientRelationship,
): Promise<string> {
  const peerId = clientPeerId(identifier, client)
  const existing = await findTrust(tx, actorId, peerId)
  const facts = {
    ...factsOf(client, identifier),
    client_host: placeOf(isDocumented(client) ? client.clientId : redirectUri),
  }
  if (existing !== null) {
    const renewed = { relationship, approved: true, approvedUntil: null, facts: { ...existing.facts, ...facts } }
    await updateTrust(tx, { ...existing, ...renewed }, now)
    return peerId
  }
  await insertOauthTrust(tx, keyRing, {
    actorId,
    peerId,
    relationship,
    description: `OAuth2 client: ${client.name}`,
    peerApproved: false,
    establishedVia: 'oauth2_client',
    facts,
    now,
  })
  if (!isDocumented(client)) await tieTrustToClient(tx, actorId, peerId, client.clientId)
  return peerId
}

function factsOf({ clientId, name }: Client, identifier: string): TrustFacts {
  return { peer_identifier: identifier, client_name: name, oauth_client_id: clientId }
}

/** Returns the peer id of a client's relationship with its own actor, by which the client acts for that actor. */
export function ownPeerId(client: Pick<Client, 'clientId'>): string {
  return clientPeerId(client.clientId, client)
}

/** Returns the client of such a peer id. Null for any other peer id. */
export function ownClientOf(peerId: string): string | null {
  return /^oauth2_client:([\w-]+):\1$/.exec(peerId)?.[1] ?? null
}
