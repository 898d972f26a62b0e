/** Tokens: begins, refreshes and ends chains, for sessions of owners and for clients. */
import type { Log } from '../observe/log.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import {
  type Beginning,
  type Chain,
  type ClientGrant,
  type IssuedTokens,
  newChainId,
  noEnd,
  tokenLifetimes,
} from './chain.ts'
import { judgeAccess, judgeRefresh, type RefreshPolicy, refreshPolicy } from './judge-refresh.ts'
import { deletePurposeOf } from './one-time-store.ts'
import { type ChainKind, makeKey, makeToken, recognizeToken } from './token-text.ts'
import {
  countGraceAnswer,
  deleteChain,
  deleteChainsOfActor,
  deleteChainsOfClient,
  deleteChainsOfPeer,
  deleteSessionsExcept,
  deleteToken,
  findAccessToken,
  findChainOf,
  findLivingChains,
  insertChain,
  insertToken,
  insertTokens,
  lockRefreshToken,
  markUsed,
  type StoredToken,
} from './token-store.ts'

export interface TokensDeps {
  readonly store: Store
  readonly log: Log
  readonly now: () => number
  /** Maximum age of a chain, in days. Refreshing does not extend it. */
  readonly maxSessionDays: number
  readonly policy?: RefreshPolicy
  /** Runs for each pair of session tokens, in the transaction that issues them. */
  readonly onSession?: (tx: Transaction, grant: Beginning | 'refresh_token') => void
  /** Called in the transaction that begins a session. */
  readonly onSignIn?: (tx: Transaction, session: Pick<Chain, 'actorId' | 'device'>) => void
}

export interface NewSession {
  readonly actorId: string
  /** Identity of the owner, for the response. */
  readonly identifier: string
  readonly beganWith: Beginning
  /** Description, see `deviceOf`. */
  readonly device: string
  /** When the person proved who they are, in Unix milliseconds. Default: now. A later time counts as now. */
  readonly authenticatedAt?: number
}

/** The presenter of a refresh token. A token is valid only for its own kind and its own client. */
export type Presenter = { readonly kind: 'session' } | { readonly kind: 'client'; readonly clientId: string }

/** A valid access token. */
export interface ValidToken {
  readonly chain: Chain
  /** Unix milliseconds. */
  readonly expiresAt: number
}

const dayMs = 86_400_000

export class Tokens {
  readonly #deps: TokensDeps
  readonly #policy: RefreshPolicy

  constructor(deps: TokensDeps) {
    this.#deps = deps
    this.#policy = deps.policy ?? refreshPolicy
  }

  /** Begins a chain and issues its first tokens, in the transaction that identified the person. */
  startSession(tx: Transaction, session: NewSession): Promise<IssuedTokens> {
    return this.#start(tx, session, null)
  }

  /**
   * Like `startSession`, for a client with the owner's consent. Call it in the actor's turn (`writeActor`), so that the
   * relationship is not deleted meanwhile.
   *
   * @param until End of the client's access, in Unix milliseconds, which the access token does not outlive. Null: no end.
   */
  startClient(
    tx: Transaction,
    session: NewSession,
    client: ClientGrant,
    until: number | null = null,
  ): Promise<IssuedTokens> {
    return this.#start(tx, session, client, until)
  }

  async #start(
    tx: Transaction,
    session: NewSession,
    client: ClientGrant | null,
    until: number | null = null,
  ): Promise<IssuedTokens> {
    const chain = this.#newChain(session, client)
    await insertChain(tx, chain)
    if (client === null) {
      this.#deps.onSession?.(tx, session.beganWith)
      this.#deps.onSignIn?.(tx, session)
    }
    return this.#issue(tx, chain, { identifier: session.identifier, now: chain.createdAt, until })
  }

  #newChain(
    { actorId, beganWith, device, authenticatedAt }: Omit<NewSession, 'identifier'>,
    client: ClientGrant | null,
  ): Chain {
    const now = this.#deps.now()
    return {
      actorId,
      chainId: newChainId(),
      kind: client === null ? 'session' : 'client',
      client,
      beganWith,
      device,
      createdAt: now,
      authenticatedAt: Math.min(now, authenticatedAt ?? now),
      lastUsedAt: now,
      endsAt: now + this.#deps.maxSessionDays * dayMs,
    }
  }

  /**
   * Issues an API key: an access token without an end, which is valid as long as its relationship. The id of its chain is the
   * hash of the key, so that a sharded database finds the token when the relationship ends.
   */
  async startKey(tx: Transaction, actorId: string, client: ClientGrant): Promise<string> {
    const key = makeKey()
    const hash = hashSecret(key)
    const begun = this.#newChain({ actorId, beganWith: 'key', device: '' }, client)
    // A last use of 0 means that the key was never used.
    const chain = { ...begun, chainId: hash, lastUsedAt: 0, endsAt: noEnd }
    await insertChain(tx, chain)
    await insertToken(tx, chain, { hash, kind: 'access', expiresAt: noEnd, isLegacy: false })
    return key
  }

  /** Imports a refresh token that another service issued without a chain. @param expiresAt Unix milliseconds. */
  async adopt(tx: Transaction, actorId: string, refreshToken: string, expiresAt: number): Promise<void> {
    const chain = this.#newChain({ actorId, beganWith: 'import', device: '', authenticatedAt: 0 }, null)
    await insertChain(tx, chain)
    await insertToken(tx, chain, { hash: hashSecret(refreshToken), kind: 'refresh', expiresAt, isLegacy: true })
  }

  /** Like `adopt`, for the tokens of a client. `tokens` were issued together. */
  async adoptClient(
    tx: Transaction,
    actorId: string,
    client: ClientGrant,
    tokens: readonly StoredToken[],
  ): Promise<void> {
    const begun = this.#newChain({ actorId, beganWith: 'import', device: '' }, client)
    const isRefreshable = tokens.some(({ kind }) => kind === 'refresh')
    const lastEnd = Math.max(...tokens.map(({ expiresAt }) => expiresAt))
    const chain = isRefreshable ? begun : { ...begun, endsAt: Math.min(begun.endsAt, lastEnd) }
    await insertChain(tx, chain)
    for (const token of tokens) await insertToken(tx, chain, { ...token, isLegacy: token.kind === 'refresh' })
  }

  /** Issues a pair of tokens. Neither token outlives the chain. A later end of the access makes the refresh token valid again. */
  async #issue(
    tx: Transaction,
    chain: Chain,
    { identifier, now, until }: { readonly identifier: string; readonly now: number; readonly until: number | null },
  ): Promise<IssuedTokens> {
    const lifetimes = tokenLifetimes[chain.kind]
    const accessToken = makeToken(chain.kind, 'access')
    const refreshToken = makeToken(chain.kind, 'refresh')
    const expiresAt = Math.min(now + lifetimes.access, chain.endsAt, until ?? chain.endsAt)
    const refreshExpiresAt = Math.min(now + lifetimes.refresh, chain.endsAt)
    await insertTokens(
      tx,
      chain,
      { hash: hashSecret(accessToken), kind: 'access', expiresAt },
      { hash: hashSecret(refreshToken), kind: 'refresh', expiresAt: refreshExpiresAt },
    )
    return {
      accessToken,
      refreshToken,
      expiresIn: Math.floor((expiresAt - now) / 1000),
      expiresAt: Math.floor(expiresAt / 1000),
      refreshExpiresIn: Math.floor((refreshExpiresAt - now) / 1000),
      actorId: chain.actorId,
      chainId: chain.chainId,
      identifier,
      client: chain.client,
    }
  }

  /**
   * Rotates a refresh token atomically (WIRE-TOKEN-01). A reused token is revoked before the refusal is returned.
   *
   * @returns null when the token is not valid for this presenter; the log has the reason. Another presenter's token is
   *   neither consumed nor revoked.
   * @param until See `startClient`.
   * @throws ServiceError `store_unavailable`; the token then stays valid.
   */
  async refresh(refreshToken: string, presenter: Presenter, until: number | null = null): Promise<IssuedTokens | null> {
    const outcome = await this.#deps.store.write((tx) => this.#rotate(tx, refreshToken, presenter, until))
    if (outcome.tokens !== null) return outcome.tokens
    const { because, chain } = outcome
    const line = { reason: because, actorId: chain?.actorId, chainId: chain?.chainId }
    if (because === 'reused') {
      this.#deps.log.warn(line, 'A refresh token was used again after its grace window: its tokens were revoked')
    } else this.#deps.log.debug(line, 'A refresh token was refused')
    return null
  }

  async #rotate(tx: Transaction, refreshToken: string, presenter: Presenter, until: number | null): Promise<Rotation> {
    const hash = hashSecret(refreshToken)
    const found = await lockRefreshToken(tx, hash)
    if (found === null) return refused('unknown', null)
    const { chain, state, identifier } = found
    if (!isFor(chain, presenter)) return refused('foreign', chain)
    // The clock is read after the lock, because waiting for the lock may take long.
    const now = this.#deps.now()
    const verdict = judgeRefresh(state, now, this.#policy)
    if (verdict.answer === 'refuse') {
      if (verdict.revoke === 'chain') await deleteChain(tx, chain.actorId, chain.chainId)
      if (verdict.revoke === 'token') await deleteToken(tx, hash)
      return refused(verdict.because, chain)
    }
    const isConsumed =
      verdict.use === 'first'
        ? await markUsed(tx, hash, now, now + this.#policy.reuseWindowMs)
        : await countGraceAnswer(tx, hash, state.graceAnswers)
    if (!isConsumed) throw new Error('A refresh token changed while its row was locked')
    if (chain.kind === 'session') this.#deps.onSession?.(tx, 'refresh_token')
    return { tokens: await this.#issue(tx, chain, { identifier, now, until }) }
  }

  /** Finds an access token. @returns null when it is not valid. @throws ServiceError when the store fails. */
  async validate(accessToken: string): Promise<ValidToken | null> {
    return recognizeToken(accessToken)?.kind === 'access' ? this.find(accessToken) : null
  }

  /** Like `validate`, for a string that `recognizeToken` recognized as an access token. */
  async find(accessToken: string): Promise<ValidToken | null> {
    const token = await this.#deps.store.read((q) => findAccessToken(q, hashSecret(accessToken)))
    return token !== null && judgeAccess(token, this.#deps.now()) === 'alive' ? token : null
  }

  /** Returns whether the token belongs to a session of this service, even an expired one. False for an ended session. */
  async knows(token: string): Promise<boolean> {
    if (recognizeToken(token)?.chain !== 'session') return false
    return (await this.#deps.store.read((q) => this.chainOf(q, token)))?.kind === 'session'
  }

  /** Finds the chain of an access or refresh token, even an expired one. Null for any other string. */
  async chainOf(q: Queries, token: string): Promise<Chain | null> {
    return findChainOf(q, hashSecret(token))
  }

  /** Ends a chain and all its tokens, immediately in every process. Returns false when it does not exist. */
  endChain(tx: Transaction, actorId: string, chainId: string, kind?: ChainKind): Promise<boolean> {
    return deleteChain(tx, actorId, chainId, kind)
  }

  /** Ends every session except one, and the link of an operator for another one. @returns the number of ended sessions. */
  async endOthers(tx: Transaction, actorId: string, chainId: string): Promise<number> {
    // A sharded database has links on any server, and a request uses few of them. There, a link ends after its hour.
    if (!tx.isSharded) await deletePurposeOf(tx, actorId, 'owner_link')
    return deleteSessionsExcept(tx, actorId, chainId)
  }

  /** Ends all sessions and client chains of an actor. `deleteActor` does not need this call. */
  endAllOf(tx: Transaction, actorId: string): Promise<number> {
    return deleteChainsOfActor(tx, actorId)
  }

  /** Ends the client's chains of all actors. */
  endAllOfClient(tx: Transaction, clientId: string): Promise<number> {
    return deleteChainsOfClient(tx, clientId)
  }

  /** Ends the client's chains in its relationship with an actor. */
  endAllOfPeer(tx: Transaction, actorId: string, peerId: string): Promise<number> {
    return deleteChainsOfPeer(tx, actorId, peerId)
  }

  /** Lists valid sessions, most recently used first. */
  sessionsOf(actorId: string): Promise<Chain[]> {
    return this.#deps.store.read((q) => findLivingChains(q, actorId, 'session', this.#deps.now()))
  }

  /** Lists valid chains of authorized clients, most recently used first. */
  clientsOf(actorId: string): Promise<Chain[]> {
    return this.#deps.store.read((q) => findLivingChains(q, actorId, 'client', this.#deps.now()))
  }
}

type Refusal = 'unknown' | 'foreign' | 'expired' | 'exhausted' | 'reused'
type Rotation =
  | { readonly tokens: IssuedTokens }
  | { readonly tokens: null; readonly because: Refusal; readonly chain: Chain | null }

function refused(because: Refusal, chain: Chain | null): Rotation {
  return { tokens: null, because, chain }
}

function isFor(chain: Chain, presenter: Presenter): boolean {
  return presenter.kind === 'session'
    ? chain.kind === 'session'
    : chain.kind === 'client' && chain.client?.clientId === presenter.clientId
}
