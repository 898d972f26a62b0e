/** The SQL of a client's access: token, chain, actor and relationship in one statement, because every call asks for it. */
import type { Actor } from '../actor/actor.ts'
import type { SecretHash } from '../secret/hash.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Queries } from '../store/store.ts'
import type { TrustFacts } from '../trust/trust.ts'

interface AccessRow {
  readonly expires_at: number
  readonly chain_id: string
  readonly client_id: string
  readonly peer_id: string
  readonly audience: string
  readonly scope: string
  readonly id: string
  readonly creator: string
  readonly passphrase: string
  readonly trustee_root: string | null
  readonly created_at: number
  readonly guarded_until: number
  readonly relationship: string
  readonly approved: number
  readonly facts: string
}

export interface FoundAccess {
  readonly actor: Actor
  readonly chainId: string
  readonly clientId: string
  readonly peerId: string
  readonly audience: string
  readonly scope: string
  /** Of the token, in Unix milliseconds. */
  readonly expiresAt: number
  readonly relationship: string
  readonly isApproved: boolean
  readonly facts: TrustFacts
}

/** Null for everything that is not an access token of a client. The relationship is there as long as the chain is. */
export async function findClientAccess(q: Queries, hash: SecretHash): Promise<FoundAccess | null> {
  const row = await q.get<AccessRow>(
    `SELECT t.expires_at, c.chain_id, c.client_id, c.peer_id, c.audience, c.scope, a.id, a.creator, a.passphrase,
       a.trustee_root, a.created_at, a.guarded_until, r.relationship, r.approved, r.facts
     FROM token t
     JOIN token_chain c ON c.actor_id = t.actor_id AND c.chain_id = t.chain_id
     JOIN actor a ON a.id = c.actor_id
     JOIN trust r ON r.actor_id = c.actor_id AND r.peer_id = c.peer_id
     WHERE t.hash = $1 AND t.kind = 'access' AND c.kind = 'client'`,
    hash,
  )
  if (row === undefined) return null
  return {
    actor: {
      id: row.id,
      creator: row.creator,
      passphrase: row.passphrase as Sealed,
      trusteeRoot: row.trustee_root,
      createdAt: row.created_at,
      guardedUntil: row.guarded_until,
    },
    chainId: row.chain_id,
    clientId: row.client_id,
    peerId: row.peer_id,
    audience: row.audience,
    scope: row.scope,
    expiresAt: row.expires_at,
    relationship: row.relationship,
    isApproved: row.approved !== 0,
    facts: JSON.parse(row.facts) as TrustFacts,
  }
}
