/** Issued tokens: chains begin, are refreshed and end here, for sessions of owners and for clients alike. */
import type { Log } from '../observe/log.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import { type Beginning, type Chain, type ClientGrant, type IssuedTokens, newChainId, tokenLifetimes } from './chain.ts'
import { judgeAccess, judgeRefresh, type RefreshPolicy, refreshPolicy } from './judge-refresh.ts'
import { type ChainKind, makeToken, recogniseToken } from './token-text.ts'
import {
  countGraceAnswer,
  deleteChain,
  deleteChainsOfActor,
  deleteChainsOfClient,
  deleteSessionsExcept,
  deleteToken,
  findAccessToken,
  findChainOf,
  findLivingChains,
  insertChain,
  insertLegacyToken,
  insertTokens,
  lockRefreshToken,
  markUsed,
} from './token-store.ts'

export interface TokensDeps {
  readonly store: Store
  readonly log: Log
  readonly now: () => number
  /** After so many days a chain ends, however often it is refreshed. */
  readonly maxSessionDays: number
  readonly policy?: RefreshPolicy
  /** Told of tokens of sessions, in the transaction that issues them. */
  readonly onSession?: (tx: Transaction, grant: Beginning | 'refresh_token') => void
}

export interface NewSession {
  readonly actorId: string
  /** Who signed in, for the answer. */
  readonly identifier: string
  readonly beganWith: Beginning
  /** In words, see `deviceOf`. */
  readonly device: string
}

/** Who shows a refresh token: it counts for its own kind, and for its own client, alone. */
export type Presenter = { readonly kind: 'session' } | { readonly kind: 'client'; readonly clientId: string }

/** A living access token. */
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

  /** A new chain with its first tokens, in the transaction that found out who signed in. */
  startSession(tx: Transaction, session: NewSession): Promise<IssuedTokens> {
    return this.#start(tx, session, null)
  }

  /**
   * As `startSession`, for a client that the owner consented to. Inside the actor's turn (`writeActor`): the
   * relationship may not go meanwhile.
   */
  startClient(tx: Transaction, session: NewSession, client: ClientGrant): Promise<IssuedTokens> {
    return this.#start(tx, session, client)
  }

  async #start(tx: Transaction, session: NewSession, client: ClientGrant | null): Promise<IssuedTokens> {
    const chain = this.#newChain(session, client)
    await insertChain(tx, chain)
    if (client === null) this.#deps.onSession?.(tx, session.beganWith)
    return this.#issue(tx, chain, session.identifier, chain.createdAt)
  }

  #newChain({ actorId, beganWith, device }: Omit<NewSession, 'identifier'>, client: ClientGrant | null): Chain {
    const now = this.#deps.now()
    return {
      actorId,
      chainId: newChainId(),
      kind: client === null ? 'session' : 'client',
      client,
      beganWith,
      device,
      createdAt: now,
      lastUsedAt: now,
      endsAt: now + this.#deps.maxSessionDays * dayMs,
    }
  }

  /** Takes over a refresh token that another service issued without a family. @param expiresAt Unix milliseconds. */
  async adopt(tx: Transaction, actorId: string, refreshToken: string, expiresAt: number): Promise<void> {
    const chain = this.#newChain({ actorId, beganWith: 'import', device: '' }, null)
    await insertChain(tx, chain)
    await insertLegacyToken(tx, chain, { hash: hashSecret(refreshToken), kind: 'refresh', expiresAt })
  }

  /** Neither token outlives the chain. */
  async #issue(tx: Transaction, chain: Chain, identifier: string, now: number): Promise<IssuedTokens> {
    const lifetimes = tokenLifetimes[chain.kind]
    const accessToken = makeToken(chain.kind, 'access')
    const refreshToken = makeToken(chain.kind, 'refresh')
    const expiresAt = Math.min(now + lifetimes.access, chain.endsAt)
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
   * Rotation (WIRE-TOKEN-01): all of it or nothing, and what reuse revokes is revoked before the refusal is known.
   *
   * @returns null when the token opens nothing for this presenter; the reason is in the log. Somebody else's token is
   *   neither spent nor revoked.
   * @throws ServiceError `store_unavailable` when it cannot be told; the token is as good as before.
   */
  async refresh(refreshToken: string, presenter: Presenter): Promise<IssuedTokens | null> {
    const outcome = await this.#deps.store.write((tx) => this.#rotate(tx, refreshToken, presenter))
    if (outcome.tokens !== null) return outcome.tokens
    const { because, chain } = outcome
    const line = { reason: because, actorId: chain?.actorId, chainId: chain?.chainId }
    if (because === 'reused') {
      this.#deps.log.warn(line, 'A refresh token was used again after its grace window: what came of it was revoked')
    } else this.#deps.log.debug(line, 'A refresh token was refused')
    return null
  }

  async #rotate(tx: Transaction, refreshToken: string, presenter: Presenter): Promise<Rotation> {
    const hash = hashSecret(refreshToken)
    const found = await lockRefreshToken(tx, hash)
    if (found === null) return refused('unknown', null)
    const { chain, state, identifier } = found
    if (!isFor(chain, presenter)) return refused('foreign', chain)
    // After the lock was had, which may have taken its time.
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
    return { tokens: await this.#issue(tx, chain, identifier, now) }
  }

  /** @returns null for anything that is not a living access token. @throws when its store cannot be read. */
  async validate(accessToken: string): Promise<ValidToken | null> {
    if (recogniseToken(accessToken)?.kind !== 'access') return null
    const token = await this.#deps.store.read((q) => findAccessToken(q, hashSecret(accessToken)))
    return token !== null && judgeAccess(token, this.#deps.now()) === 'alive' ? token : null
  }

  /** The chain of a token of either kind, also of an expired one; null for any other text. */
  async chainOf(q: Queries, token: string): Promise<Chain | null> {
    return findChainOf(q, hashSecret(token))
  }

  /** With all its tokens, at once and in every process. False when there was none (any more). */
  endChain(tx: Transaction, actorId: string, chainId: string, kind?: ChainKind): Promise<boolean> {
    return deleteChain(tx, actorId, chainId, kind)
  }

  /** Every session but one. @returns how many ended. */
  endOthers(tx: Transaction, actorId: string, chainId: string): Promise<number> {
    return deleteSessionsExcept(tx, actorId, chainId)
  }

  /** Sessions and clients; `deleteActor` does it by itself. */
  endAllOf(tx: Transaction, actorId: string): Promise<number> {
    return deleteChainsOfActor(tx, actorId)
  }

  /** Of every actor that consented to the client. */
  endAllOfClient(tx: Transaction, clientId: string): Promise<number> {
    return deleteChainsOfClient(tx, clientId)
  }

  /** Those that can still be used, the last used first. */
  sessionsOf(actorId: string): Promise<Chain[]> {
    return this.#deps.store.read((q) => findLivingChains(q, actorId, 'session', this.#deps.now()))
  }

  /** As `sessionsOf`, of the clients that the owner let in. */
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
