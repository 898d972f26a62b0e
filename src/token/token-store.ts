/** SQL of chains and their tokens. All times are Unix milliseconds. */
import type { SecretHash } from '../secret/hash.ts'
import type { Queries, Row, Transaction } from '../store/store.ts'
import type { Chain, ClientGrant } from './chain.ts'
import type { RefreshState } from './judge-refresh.ts'
import type { ChainKind, TokenKind } from './token-text.ts'

type ChainRow = Omit<Chain, 'client'> &
  Omit<ClientGrant, 'clientId' | 'peerId'> & {
    readonly clientId: string | null
    readonly peerId: string | null
  }

const columns = `c.actor_id AS "actorId", c.chain_id AS "chainId", c.kind, c.client_id AS "clientId", c.peer_id AS "peerId",
  c.audience, c.scope, c.began_with AS "beganWith", c.device, c.created_at AS "createdAt",
  c.authenticated_at AS "authenticatedAt", c.last_used_at AS "lastUsedAt", c.ends_at AS "endsAt"`

function toChain({ clientId, peerId, audience, scope, ...chain }: ChainRow): Chain {
  return { ...chain, client: clientId === null || peerId === null ? null : { clientId, peerId, audience, scope } }
}

/** Inserts a chain. Foreign keys require the actor, and the relationship of a client's chain. */
export async function insertChain(tx: Transaction, chain: Chain): Promise<void> {
  await tx.run(
    `INSERT INTO token_chain (actor_id, chain_id, kind, client_id, peer_id, audience, scope, began_with, device,
       created_at, authenticated_at, last_used_at, ends_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    chain.actorId,
    chain.chainId,
    chain.kind,
    chain.client?.clientId ?? null,
    chain.client?.peerId ?? null,
    chain.client?.audience ?? '',
    chain.client?.scope ?? '',
    chain.beganWith,
    chain.device,
    chain.createdAt,
    chain.authenticatedAt,
    chain.lastUsedAt,
    chain.endsAt,
  )
}

export interface StoredToken {
  readonly hash: SecretHash
  readonly kind: TokenKind
  readonly expiresAt: number
}

export async function insertTokens(
  tx: Transaction,
  { actorId, chainId }: Pick<Chain, 'actorId' | 'chainId'>,
  access: StoredToken,
  refresh: StoredToken,
): Promise<void> {
  await tx.run(
    `INSERT INTO token (hash, actor_id, chain_id, kind, expires_at)
     VALUES ($1, $2, $3, $4, $5), ($6, $2, $3, $7, $8)`,
    access.hash,
    actorId,
    chainId,
    access.kind,
    access.expiresAt,
    refresh.hash,
    refresh.kind,
    refresh.expiresAt,
  )
}

/** Inserts the only token of a chain. */
export async function insertToken(
  tx: Transaction,
  { actorId, chainId }: Pick<Chain, 'actorId' | 'chainId'>,
  { hash, kind, expiresAt, isLegacy }: StoredToken & { readonly isLegacy: boolean },
): Promise<void> {
  await tx.run(
    `INSERT INTO token (hash, actor_id, chain_id, kind, expires_at, legacy) VALUES ($1, $2, $3, $4, $5, $6)`,
    hash,
    actorId,
    chainId,
    kind,
    expiresAt,
    Number(isLegacy),
  )
}

interface TokenRow extends Row<Omit<RefreshState, 'chainEndsAt'>> {
  readonly actorId: string
  readonly chainId: string
  readonly kind: TokenKind
}

/** Finds a token without its chain, which a sharded database may have on another server. */
async function findToken(q: Queries, hash: SecretHash, lock = ''): Promise<TokenRow | null> {
  const row = await q.get<TokenRow>(
    `SELECT actor_id AS "actorId", chain_id AS "chainId", kind, expires_at AS "expiresAt", used_at AS "usedAt",
       grace_answers AS "graceAnswers", legacy AS "isLegacy" FROM token WHERE hash = $1 ${lock}`,
    hash,
  )
  return row ?? null
}

async function findChain(
  q: Queries,
  { actorId, chainId }: Pick<Chain, 'actorId' | 'chainId'>,
  lock = '',
): Promise<Chain | null> {
  const row = await q.get<ChainRow>(
    `SELECT ${columns} FROM token_chain c WHERE c.actor_id = $1 AND c.chain_id = $2 ${lock}`,
    actorId,
    chainId,
  )
  return row === undefined ? null : toChain(row)
}

/** A stored access token with its chain. */
export interface AccessToken {
  readonly chain: Chain
  readonly expiresAt: number
}

/** Finds an access token, in the single statement of the hot path. A chain that any process ended is not found. */
export async function findAccessToken(q: Queries, hash: SecretHash): Promise<AccessToken | null> {
  if (q.isSharded) {
    const token = await findToken(q, hash)
    const chain = token?.kind === 'access' ? await findChain(q, token) : null
    return token === null || chain === null ? null : { chain, expiresAt: token.expiresAt }
  }
  const row = await q.get<ChainRow & { readonly expiresAt: number }>(
    `SELECT ${columns}, t.expires_at AS "expiresAt"
     FROM token t JOIN token_chain c ON c.actor_id = t.actor_id AND c.chain_id = t.chain_id
     WHERE t.hash = $1 AND t.kind = 'access'`,
    hash,
  )
  if (row === undefined) return null
  const { expiresAt, ...chain } = row
  return { chain: toChain(chain), expiresAt }
}

export interface RefreshToken {
  readonly chain: Chain
  readonly identifier: string
  readonly state: RefreshState
}

/**
 * Locks the rows of the chain and the token. PostgreSQL locks the chain first, like its deletion: changes of one chain
 * are serialized, and an ended chain gets no tokens. The result is the state after the lock.
 */
export async function lockRefreshToken(tx: Transaction, hash: SecretHash): Promise<RefreshToken | null> {
  if (tx.isSharded) return lockRemoteToken(tx, hash)
  const row = await tx.get<ChainRow & Row<Omit<RefreshState, 'chainEndsAt'>> & { readonly identifier: string }>(
    `SELECT ${columns}, t.expires_at AS "expiresAt", t.used_at AS "usedAt", t.grace_answers AS "graceAnswers",
       t.legacy AS "isLegacy", a.creator AS identifier
     FROM token_chain c JOIN token t ON t.actor_id = c.actor_id AND t.chain_id = c.chain_id
       JOIN actor a ON a.id = c.actor_id
     WHERE t.hash = $1 AND t.kind = 'refresh' FOR UPDATE OF c, t`,
    hash,
  )
  if (row === undefined) return null
  const { expiresAt, usedAt, graceAnswers, isLegacy, identifier, ...chain } = row
  return {
    chain: toChain(chain),
    identifier,
    state: { expiresAt, usedAt, graceAnswers, isLegacy: isLegacy !== 0, chainEndsAt: chain.endsAt },
  }
}

/** Like `lockRefreshToken`: finds the token, locks its chain, and then locks the token. */
async function lockRemoteToken(tx: Transaction, hash: SecretHash): Promise<RefreshToken | null> {
  const found = await findToken(tx, hash)
  const chain = found?.kind === 'refresh' ? await findChain(tx, found, 'FOR UPDATE OF c') : null
  const token = chain === null ? null : await findToken(tx, hash, 'FOR UPDATE')
  if (chain === null || token === null) return null
  const actor = await tx.get<{ creator: string }>('SELECT creator FROM actor WHERE id = $1', chain.actorId)
  if (actor === undefined) return null
  const { expiresAt, usedAt, graceAnswers, isLegacy } = token
  return {
    chain,
    identifier: actor.creator,
    state: { expiresAt, usedAt, graceAnswers, isLegacy: isLegacy !== 0, chainEndsAt: chain.endsAt },
  }
}

/** Consumes a refresh token: exactly one caller receives true. The token is stored until `until` to detect reuse. */
export async function markUsed(tx: Transaction, hash: SecretHash, now: number, until: number): Promise<boolean> {
  const marked = await tx.run(
    'UPDATE token SET used_at = $2, expires_at = $3 WHERE hash = $1 AND used_at IS NULL AND expires_at >= $2',
    hash,
    now,
    until,
  )
  return marked === 1
}

/** Counts a response within the grace window. Returns false when a concurrent response was counted first. */
export async function countGraceAnswer(tx: Transaction, hash: SecretHash, before: number): Promise<boolean> {
  const counted = await tx.run(
    `UPDATE token SET grace_answers = grace_answers + 1
     WHERE hash = $1 AND used_at IS NOT NULL AND grace_answers = $2`,
    hash,
    before,
  )
  return counted === 1
}

export async function deleteToken(tx: Transaction, hash: SecretHash): Promise<void> {
  await tx.run('DELETE FROM token WHERE hash = $1', hash)
}

/** Finds the chain of an access or refresh token, expired or not. */
export async function findChainOf(q: Queries, hash: SecretHash): Promise<Chain | null> {
  if (q.isSharded) {
    const token = await findToken(q, hash)
    return token === null ? null : findChain(q, token)
  }
  const row = await q.get<ChainRow>(
    `SELECT ${columns} FROM token t JOIN token_chain c ON c.actor_id = t.actor_id AND c.chain_id = t.chain_id
     WHERE t.hash = $1`,
    hash,
  )
  return row === undefined ? null : toChain(row)
}

/** Deletes a chain and all its tokens. Returns false when it does not exist. */
export async function deleteChain(
  tx: Transaction,
  actorId: string,
  chainId: string,
  kind?: ChainKind,
): Promise<boolean> {
  const deleted = await tx.run(
    `DELETE FROM token_chain WHERE actor_id = $1 AND chain_id = $2 AND kind = COALESCE(CAST($3 AS TEXT), kind)`,
    actorId,
    chainId,
    kind ?? null,
  )
  return deleted === 1
}

/** @returns the number of deleted sessions. */
export async function deleteSessionsExcept(tx: Transaction, actorId: string, chainId: string): Promise<number> {
  return tx.run(`DELETE FROM token_chain WHERE actor_id = $1 AND kind = 'session' AND chain_id <> $2`, actorId, chainId)
}

export async function deleteChainsOfActor(tx: Transaction, actorId: string): Promise<number> {
  return tx.run('DELETE FROM token_chain WHERE actor_id = $1', actorId)
}

export async function deleteChainsOfClient(tx: Transaction, clientId: string): Promise<number> {
  return tx.run('DELETE FROM token_chain WHERE client_id = $1', clientId)
}

/** Deletes the chains of a client in its relationship with an actor. */
export async function deleteChainsOfPeer(tx: Transaction, actorId: string, peerId: string): Promise<number> {
  return tx.run('DELETE FROM token_chain WHERE actor_id = $1 AND peer_id = $2', actorId, peerId)
}

/** Lists valid chains, most recently used first. */
export async function findLivingChains(q: Queries, actorId: string, kind: ChainKind, now: number): Promise<Chain[]> {
  // A sharded database has the tokens on other servers. There, the purge deletes a chain without tokens.
  const hasToken = q.isSharded
    ? ''
    : `AND EXISTS (SELECT 1 FROM token t WHERE t.actor_id = c.actor_id AND t.chain_id = c.chain_id AND t.expires_at >= $3
         AND t.used_at IS NULL)`
  const rows = await q.all<ChainRow>(
    `SELECT ${columns} FROM token_chain c
     WHERE c.actor_id = $1 AND c.kind = $2 AND c.ends_at >= $3 ${hasToken}
     ORDER BY c.last_used_at DESC, c.chain_id`,
    actorId,
    kind,
    now,
  )
  return rows.map(toChain)
}

/** Stores the last use. Changes nothing when another process stored a use after `before`. */
export async function touchChain(
  tx: Transaction,
  actorId: string,
  chainId: string,
  now: number,
  before: number,
): Promise<void> {
  await tx.run(
    'UPDATE token_chain SET last_used_at = $3 WHERE actor_id = $1 AND chain_id = $2 AND last_used_at <= $4',
    actorId,
    chainId,
    now,
    before,
  )
}

/**
 * Deletes up to `limit` tokens that expired before `now`, and the chains that have no tokens left. Skips locked rows
 * until the next purge.
 *
 * @returns the number of deleted tokens.
 */
export async function purgeTokens(tx: Transaction, now: number, limit: number): Promise<number> {
  if (tx.isSharded) return purgeRemoteTokens(tx, now, limit)
  const gone = await tx.all<{ actor_id: string; chain_id: string }>(
    `DELETE FROM token WHERE hash IN (
       SELECT hash FROM token WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
     RETURNING actor_id, chain_id`,
    now,
    limit,
  )
  if (gone.length === 0) return 0
  await tx.run(
    `DELETE FROM token_chain WHERE (actor_id, chain_id) IN (
       SELECT c.actor_id, c.chain_id FROM token_chain c
       WHERE (c.actor_id, c.chain_id) IN (SELECT actor_id, chain_id FROM rows($1, actor_id TEXT, chain_id TEXT) AS left_over)
         AND NOT EXISTS (SELECT 1 FROM token t WHERE t.actor_id = c.actor_id AND t.chain_id = c.chain_id)
       FOR UPDATE SKIP LOCKED)`,
    JSON.stringify(gone.map(({ actor_id, chain_id }) => [actor_id, chain_id])),
  )
  return gone.length
}

/**
 * Like `purgeTokens`, in statements that each have one table. It reads before it deletes, because one statement cannot. The
 * purges of two processes delete in the same order, so none waits for the other in a circle.
 */
async function purgeRemoteTokens(tx: Transaction, now: number, limit: number): Promise<number> {
  const found = await tx.all<{ hash: string; actorId: string; chainId: string }>(
    `SELECT hash, actor_id AS "actorId", chain_id AS "chainId" FROM token WHERE expires_at < $1 ORDER BY expires_at LIMIT $2`,
    now,
    limit,
  )
  const gone = found.toSorted((a, b) => (a.hash < b.hash ? -1 : 1))
  for (const { hash } of gone) await tx.run('DELETE FROM token WHERE hash = $1 AND expires_at < $2', hash, now)
  for (const { actorId, chainId } of gone.toSorted((a, b) => (a.chainId < b.chainId ? -1 : 1))) {
    const left = await tx.get(
      'SELECT 1 AS found FROM token WHERE actor_id = $1 AND chain_id = $2 LIMIT 1',
      actorId,
      chainId,
    )
    if (left === undefined) await deleteChain(tx, actorId, chainId)
  }
  return gone.length
}

/** Deletes the tokens of a deleted actor on every server of a sharded database. A plain one has deleted them with the actor. */
export async function deleteTokensOf(tx: Transaction, actorId: string): Promise<void> {
  await tx.run('DELETE FROM token WHERE actor_id = $1', actorId)
}
