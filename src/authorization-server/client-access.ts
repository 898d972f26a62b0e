/** Resolves a client's access token to the actor and the relationship. */
import type { Actor } from '../actor/actor.ts'
import type { Caller } from '../caller.ts'
import { actorClosed, ServiceError } from '../errors.ts'
import { findClientAccess } from './access-store.ts'
import { cleanName } from './client.ts'
import { earliest } from '../permission/grants.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Store } from '../store/store.ts'
import { judgeAccess } from '../token/judge-refresh.ts'
import { recognizeToken } from '../token/token-text.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import { isReservedName } from '../trust/names/reserved-names.ts'
import { findTrust, updateTrust } from '../trust/trust-store.ts'

export interface ClientAccess {
  readonly actor: Actor
  readonly caller: Extract<Caller, { kind: 'client' }>
  /** Id of the token's chain. */
  readonly chainId: string
  readonly scope: string
  /** Resource of the token (RFC 8707). Empty when the client requested none. */
  readonly audience: string
  /** Expiry of the token, in Unix milliseconds. */
  readonly expiresAt: number
  /** Facts about the client, stored with the relationship. */
  readonly facts: TrustFacts
  /** Last use of the token's chain, in Unix milliseconds. */
  readonly lastUsedAt: number
}

/**
 * Finds the access of a client's token. Null for any other string and for an expired token. Without an approved
 * relationship, the caller is authenticated, but its relationship is empty and grants no rights.
 *
 * @throws ServiceError `store_unavailable`, because a fault of the store must never look like an invalid token; `unavailable`
 *   while the content of the actor is replaced.
 */
export async function clientAccess(store: Store, token: string): Promise<ClientAccess | null> {
  const form = recognizeToken(token)
  if (form?.chain !== 'client' || form.kind !== 'access') return null
  const found = await store.read((q) => findClientAccess(q, hashSecret(token)))
  if (found === null || judgeAccess(found, store.now()) !== 'alive') return null
  if (found.actor.residence === 'replacing') throw actorClosed()
  if (found.actor.residence === 'suspended') throw new ServiceError('actor_suspended')
  const { actor, chainId, clientId, peerId, scope, audience, expiresAt, approvedUntil, clientUntil } = found
  // The tokens of a client end with its approval, and with the client.
  const end = earliest(approvedUntil, clientUntil)
  if (end !== null && end <= store.now()) return null
  const relationship = found.isApproved ? found.relationship : ''
  const caller = { kind: 'client', clientId, peerId, relationship, via: 'bearer' } as const
  return { actor, caller, chainId, scope, audience, expiresAt, facts: found.facts, lastUsedAt: found.lastUsedAt }
}

/**
 * Stores the version of a client, and the name that it claims if it differs from the name to which the owner consented.
 * The first call is also the client's approval. The name of the consent stays: it is the name by which the owner decides.
 */
export function rememberClient(store: Store) {
  return async (
    { actor, caller }: Pick<ClientAccess, 'actor' | 'caller'>,
    info: { readonly name: string; readonly version?: string | undefined },
  ): Promise<void> => {
    await store.writeActor(actor.id, async (tx) => {
      const trust = await findTrust(tx, actor.id, caller.peerId)
      if (trust === null) return
      const claimed = cleanName(info.name)
      const isOther = claimed !== '' && claimed !== trust.facts.client_name && !isReservedName(claimed)
      const facts = {
        ...trust.facts,
        client_claimed_name: isOther ? claimed : undefined,
        client_version: info.version ?? trust.facts.client_version,
      }
      const isNew = JSON.stringify(facts) !== JSON.stringify(trust.facts)
      if (isNew || !trust.peerApproved) await updateTrust(tx, { ...trust, facts, peerApproved: true }, store.now())
    })
  }
}
