/** From a client's access token to who it acts for, and by which relationship. */
import type { Actor } from '../actor/actor.ts'
import type { Caller } from '../caller.ts'
import { findClientAccess } from './access-store.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Store } from '../store/store.ts'
import { judgeAccess } from '../token/judge-refresh.ts'
import { recogniseToken } from '../token/token-text.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import { findTrust, updateTrust } from '../trust/trust-store.ts'

export interface ClientAccess {
  readonly actor: Actor
  readonly caller: Extract<Caller, { kind: 'client' }>
  /** Of the chain that the token belongs to. */
  readonly chainId: string
  readonly scope: string
  /** RFC 8707; empty for a client that asked for none. */
  readonly audience: string
  /** Of the token, in Unix milliseconds. */
  readonly expiresAt: number
  /** What the relationship remembers of the client. */
  readonly facts: TrustFacts
}

/**
 * Null for everything that is not a living access token of a client. A token without an approved relationship opens
 * nothing, but it is a token: its caller has a relationship that nothing is granted to.
 *
 * @throws ServiceError `store_unavailable`, which must never look like a wrong token.
 */
export async function clientAccess(store: Store, token: string): Promise<ClientAccess | null> {
  const form = recogniseToken(token)
  if (form?.chain !== 'client' || form.kind !== 'access') return null
  const found = await store.read((q) => findClientAccess(q, hashSecret(token)))
  if (found === null || judgeAccess(found, store.now()) !== 'alive') return null
  const { actor, chainId, clientId, peerId, scope, audience, expiresAt, facts } = found
  const relationship = found.isApproved ? found.relationship : ''
  const caller = { kind: 'client', clientId, peerId, relationship, via: 'bearer' } as const
  return { actor, caller, chainId, scope, audience, expiresAt, facts }
}

/** What a client says of itself, noted in its relationship when it is new; coming is its side's approval. */
export function rememberClient(store: Store) {
  return async (
    { actor, caller }: Pick<ClientAccess, 'actor' | 'caller'>,
    info: { readonly name: string; readonly version?: string | undefined },
  ): Promise<void> => {
    await store.writeActor(actor.id, async (tx) => {
      const trust = await findTrust(tx, actor.id, caller.peerId)
      if (trust === null) return
      const facts = {
        ...trust.facts,
        client_name: info.name,
        client_version: info.version ?? trust.facts.client_version,
      }
      const isNew = JSON.stringify(facts) !== JSON.stringify(trust.facts)
      if (isNew || !trust.peerApproved) await updateTrust(tx, { ...trust, facts, peerApproved: true })
    })
  }
}
