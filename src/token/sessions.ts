/** The sessions of an owner: where somebody is signed in, and the end of it. */
import { ServiceError } from '../errors.ts'
import type { Live } from '../live/live.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Chain, IssuedTokens } from './chain.ts'
import { recogniseToken } from './token-text.ts'
import type { NewSession, Tokens } from './tokens.ts'

interface SessionsDeps {
  readonly store: Store
  readonly tokens: Tokens
  readonly live: Pick<Live, 'record'>
  /** In the actor's turn: what else ends when the owner signs out. What the provider gave is forgotten here. */
  readonly onSignOut: (tx: Transaction, actorId: string) => Promise<void>
}

export class Sessions {
  readonly #deps: SessionsDeps

  constructor(deps: SessionsDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError `actor_not_found` when the actor went meanwhile. */
  begin(session: NewSession): Promise<IssuedTokens> {
    const { store, tokens, live } = this.#deps
    return store.writeActor(session.actorId, async (tx, actor) => {
      const issued = await tokens.startSession(tx, session)
      await live.record(tx, actor, 'sessions', [issued.chainId])
      return issued
    })
  }

  /** Those that can still be used, the last used first. */
  list(actorId: string): Promise<Chain[]> {
    return this.#deps.tokens.sessionsOf(actorId)
  }

  /** At once and in every process. False when there is none (any more). */
  end(actorId: string, chainId: string): Promise<boolean> {
    const { store, tokens, live } = this.#deps
    return store.writeActor(actorId, async (tx, actor) => {
      const hasEnded = await tokens.endChain(tx, actorId, chainId, 'session')
      if (hasEnded) await live.record(tx, actor, 'sessions', [chainId])
      return hasEnded
    })
  }

  /** Every session but the one that is kept. @returns how many ended. */
  endOthers(actorId: string, kept: string): Promise<number> {
    const { store, tokens, live } = this.#deps
    return store.writeActor(actorId, async (tx, actor) => {
      const ended = await tokens.endOthers(tx, actorId, kept)
      if (ended > 0) await live.record(tx, actor, 'sessions', [kept])
      return ended
    })
  }

  /**
   * Ends the sessions that these tokens belong to, whichever kind they are and whether or not they expired; other
   * devices stay signed in, and so does the provider. Tokens of clients are not signed out by showing them here.
   *
   * @param presented The few that one request can carry.
   */
  async signOut(presented: readonly string[]): Promise<void> {
    const { store, tokens } = this.#deps
    const texts = [...new Set(presented)].filter((token) => recogniseToken(token)?.chain !== 'client')
    const found = await Promise.all(texts.map((token) => store.read((q) => tokens.chainOf(q, token))))
    const sessions = new Map<string, Chain>()
    for (const chain of found) if (chain?.kind === 'session') sessions.set(chain.chainId, chain)
    for (const chain of sessions.values()) await this.#signOut(chain)
  }

  async #signOut({ actorId, chainId }: Chain): Promise<void> {
    const { store, tokens, live, onSignOut } = this.#deps
    try {
      await store.writeActor(actorId, async (tx, actor) => {
        if (!(await tokens.endChain(tx, actorId, chainId))) return
        await onSignOut(tx, actorId)
        await live.record(tx, actor, 'sessions', [chainId])
      })
    } catch (error) {
      // It ended with its actor.
      if (!(error instanceof ServiceError && error.code === 'actor_not_found')) throw error
    }
  }
}
