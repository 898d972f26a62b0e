/** The sessions of an owner: where somebody is signed in, and the end of it. */
import { ServiceError } from '../errors.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Chain, IssuedTokens } from './chain.ts'
import { recogniseToken } from './token-text.ts'
import type { NewSession, Tokens } from './tokens.ts'

export interface SessionsParts {
  readonly store: Store
  readonly tokens: Tokens
  /** In the actor's turn: what else ends when the owner signs out. What the provider gave is forgotten here. */
  readonly onSignOut: (tx: Transaction, actorId: string) => Promise<void>
}

export class Sessions {
  readonly #parts: SessionsParts

  constructor(parts: SessionsParts) {
    this.#parts = parts
  }

  /** @throws ServiceError `conflict` when the actor went meanwhile. */
  begin(session: NewSession): Promise<IssuedTokens> {
    return this.#parts.store.write((tx) => this.#parts.tokens.startSession(tx, session))
  }

  /** Those that can still be used, the last used first. */
  list(actorId: string): Promise<Chain[]> {
    return this.#parts.tokens.sessionsOf(actorId)
  }

  /** At once and in every process. False when there is none (any more). */
  end(actorId: string, chainId: string): Promise<boolean> {
    return this.#parts.store.write((tx) => this.#parts.tokens.endChain(tx, actorId, chainId, 'session'))
  }

  /** Every session but the one that is kept. @returns how many ended. */
  endOthers(actorId: string, kept: string): Promise<number> {
    return this.#parts.store.write((tx) => this.#parts.tokens.endOthers(tx, actorId, kept))
  }

  /**
   * Ends the sessions that these tokens belong to, whichever kind they are and whether or not they expired; other
   * devices stay signed in, and so does the provider. Tokens of clients are not signed out by showing them here.
   *
   * @param presented The few that one request can carry.
   */
  async signOut(presented: readonly string[]): Promise<void> {
    const { store, tokens } = this.#parts
    const texts = [...new Set(presented)].filter((token) => recogniseToken(token)?.chain !== 'client')
    const found = await Promise.all(texts.map((token) => store.read((q) => tokens.chainOf(q, token))))
    const sessions = new Map<string, Chain>()
    for (const chain of found) if (chain?.kind === 'session') sessions.set(chain.chainId, chain)
    for (const chain of sessions.values()) await this.#signOut(chain)
  }

  async #signOut({ actorId, chainId }: Chain): Promise<void> {
    const { store, tokens, onSignOut } = this.#parts
    try {
      await store.writeActor(actorId, async (tx) => {
        if (await tokens.endChain(tx, actorId, chainId)) await onSignOut(tx, actorId)
      })
    } catch (error) {
      // It ended with its actor.
      if (!(error instanceof ServiceError && error.code === 'actor_not_found')) throw error
    }
  }
}
