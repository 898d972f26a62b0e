/** SQL of client access. One statement reads token, chain, actor and relationship, because every call needs them. */
import type { StoredActor } from '../actor/actor-store.ts'
import type { SecretHash } from '../secret/hash.ts'
import type { Queries, Row } from '../store/store.ts'
import type { TrustFacts } from '../app/trust-record.ts'

export interface FoundAccess {
  readonly actor: StoredActor
  readonly chainId: string
  readonly clientId: string
  readonly peerId: string
  readonly audience: string
  readonly scope: string
  /** Expiry of the token, in Unix milliseconds. */
  readonly expiresAt: number
  readonly relationship: string
  readonly isApproved: boolean
  /** End of the approval, in Unix milliseconds. Null: no end. */
  readonly approvedUntil: number | null
  /** End of the client, in Unix milliseconds. Null: no end. */
  readonly clientUntil: number | null
  readonly facts: TrustFacts
  /** Last use of the chain, in Unix milliseconds. */
  readonly lastUsedAt: number
}

type AccessRow = StoredActor & Row<Omit<FoundAccess, 'actor' | 'facts'>> & { readonly facts: string }

/** Finds a client's access token. Null for any other string. A chain is deleted with its relationship. */
export async function findClientAccess(q: Queries, hash: SecretHash): Promise<FoundAccess | null> {
  const row = q.isSharded
    ? await findRemote(q, hash)
    : await q.get<AccessRow>(
        `SELECT t.expires_at AS "expiresAt", c.chain_id AS "chainId", c.client_id AS "clientId", c.peer_id AS "peerId",
       c.audience, c.scope, c.last_used_at AS "lastUsedAt", a.id, a.creator, a.passphrase, a.trustee_root AS "trusteeRoot", a.created_at AS "createdAt",
       a.guarded_until AS "guardedUntil", a.residence, a.kind, r.relationship, r.approved AS "isApproved",
       r.approved_until AS "approvedUntil", r.facts, o.ends_at AS "clientUntil"
     FROM token t
     JOIN token_chain c ON c.actor_id = t.actor_id AND c.chain_id = t.chain_id
     JOIN actor a ON a.id = c.actor_id
     JOIN trust r ON r.actor_id = c.actor_id AND r.peer_id = c.peer_id
     LEFT JOIN oauth_client o ON o.client_id = c.client_id
     WHERE t.hash = $1 AND t.kind = 'access' AND c.kind = 'client'`,
        hash,
      )
  if (row === undefined) return null
  const { id, creator, passphrase, trusteeRoot, createdAt, guardedUntil, residence, kind, ...access } = row
  return {
    ...access,
    actor: { id, creator, passphrase, trusteeRoot, createdAt, guardedUntil, residence, kind },
    isApproved: access.isApproved !== 0,
    facts: JSON.parse(row.facts) as TrustFacts,
  }
}

/** A sharded database may have the token on another server than the rest. */
async function findRemote(q: Queries, hash: SecretHash): Promise<AccessRow | undefined> {
  const token = await q.get<{ actorId: string; chainId: string; expiresAt: number }>(
    `SELECT actor_id AS "actorId", chain_id AS "chainId", expires_at AS "expiresAt" FROM token
     WHERE hash = $1 AND kind = 'access'`,
    hash,
  )
  if (token === undefined) return undefined
  const row = await q.get<Omit<AccessRow, 'expiresAt' | 'clientUntil'>>(
    `SELECT c.chain_id AS "chainId", c.client_id AS "clientId", c.peer_id AS "peerId",
       c.audience, c.scope, c.last_used_at AS "lastUsedAt", a.id, a.creator, a.passphrase, a.trustee_root AS "trusteeRoot", a.created_at AS "createdAt",
       a.guarded_until AS "guardedUntil", a.residence, a.kind, r.relationship, r.approved AS "isApproved",
       r.approved_until AS "approvedUntil", r.facts
     FROM token_chain c
     JOIN actor a ON a.id = c.actor_id
     JOIN trust r ON r.actor_id = c.actor_id AND r.peer_id = c.peer_id
     WHERE c.actor_id = $1 AND c.chain_id = $2 AND c.kind = 'client'`,
    token.actorId,
    token.chainId,
  )
  if (row === undefined) return undefined
  // A client that is described by a document has no row.
  const client = await q.get<{ until: number | null }>(
    'SELECT ends_at AS until FROM oauth_client WHERE client_id = $1',
    row.clientId,
  )
  return { ...row, expiresAt: token.expiresAt, clientUntil: client?.until ?? null }
}
