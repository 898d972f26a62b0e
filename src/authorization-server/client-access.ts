/** From a client's access token to who it acts for, and by which relationship. */
import type { Actor } from '../actor/actor.ts'
import { findActor } from '../actor/actor-store.ts'
import type { Caller } from '../auth/caller.ts'
import type { Store } from '../store/store.ts'
import type { Tokens } from '../token/tokens.ts'
import type { Trust, TrustFacts } from '../trust/trust.ts'
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
  /** What the relationship remembers of the client; null without one. */
  readonly facts: TrustFacts | null
  readonly trust: Trust | null
}

/**
 * Null for everything that is not a living access token of a client. A token without an approved relationship opens
 * nothing, but it is a token: its caller has a relationship that nothing is granted to.
 *
 * @throws ServiceError `store_unavailable`, which must never look like a wrong token.
 */
export async function clientAccess(store: Store, tokens: Tokens, token: string): Promise<ClientAccess | null> {
  const found = await tokens.validate(token)
  const grant = found?.chain.client
  if (found === null || grant === null || grant === undefined) return null
  const { actorId, chainId } = found.chain
  const { actor, trust } = await store.read(async (q) => ({
    actor: await findActor(q, actorId),
    trust: await findTrust(q, actorId, grant.peerId),
  }))
  if (actor === null) return null
  const relationship = trust?.approved === true ? trust.relationship : ''
  return {
    actor,
    caller: { kind: 'client', clientId: grant.clientId, peerId: grant.peerId, relationship, via: 'bearer' },
    chainId,
    scope: grant.scope,
    audience: grant.audience,
    expiresAt: found.expiresAt,
    facts: trust?.facts ?? null,
    trust,
  }
}

/** What a client says of itself, noted in its relationship when it is new; coming is its side's approval. */
export function rememberClient(store: Store) {
  return async (
    { actor, caller }: Pick<ClientAccess, 'actor' | 'caller'>,
    info: { readonly name: string; readonly version?: string },
  ): Promise<void> => {
    await store.writeActor(actor.id, async (tx) => {
      const trust = await findTrust(tx, actor.id, caller.peerId)
      if (trust === null) return
      const facts = {
        ...trust.facts,
        client_name: info.name,
        ...(info.version === undefined ? {} : { client_version: info.version }),
      }
      const isNew = JSON.stringify(facts) !== JSON.stringify(trust.facts)
      if (isNew || !trust.peerApproved) await updateTrust(tx, { ...trust, facts, peerApproved: true })
    })
  }
}
