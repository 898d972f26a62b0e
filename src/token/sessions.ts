/** Sessions of owners: begins, lists and ends them. */
import { writeOwner } from '../actor/write-owner.ts'
import { ServiceError } from '../errors.ts'
import type { Live } from '../live/live.ts'
import { noteAct } from '../observe/own-acts.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Chain, IssuedTokens } from './chain.ts'
import { recognizeToken } from './token-text.ts'
import type { NewSession, Tokens } from './tokens.ts'

interface SessionsDeps {
  readonly store: Store
  readonly tokens: Tokens
  readonly live: Pick<Live, 'record'>
  /** Runs at sign-out, in the actor's turn. It deletes the provider's access token. */
  readonly onSignOut: (tx: Transaction, actorId: string) => Promise<void>
}

export class Sessions {
  readonly #deps: SessionsDeps

  constructor(deps: SessionsDeps) {
    this.#deps = deps
  }

  /** Begins a session. @throws ServiceError `actor_not_found` when the actor was deleted meanwhile. */
  async begin(session: NewSession): Promise<IssuedTokens> {
    const { store, tokens, live } = this.#deps
    const begun = await store.writeActor(session.actorId, async (tx, actor) => {
      const issued = await tokens.startSession(tx, session)
      await live.record(tx, actor, 'sessions', [issued.chainId])
      return issued
    })
    noteAct(session.actorId, 'session.begin')
    return begun
  }

  /** Lists valid sessions, most recently used first. */
  list(actorId: string): Promise<Chain[]> {
    return this.#deps.tokens.sessionsOf(actorId)
  }

  /** Ends a session, immediately in every process, also of an actor that moves or has moved. Returns false when it does not exist. */
  end(actorId: string, chainId: string): Promise<boolean> {
    const { store, tokens, live } = this.#deps
    return writeOwner(store, actorId, async (tx, actor) => {
      const hasEnded = await tokens.endChain(tx, actorId, chainId, 'session')
      if (hasEnded) await live.record(tx, actor, 'sessions', [chainId])
      return hasEnded
    })
  }

  /** Ends every session except `kept`. @returns the number of ended sessions. */
  endOthers(actorId: string, kept: string): Promise<number> {
    const { store, tokens, live } = this.#deps
    return writeOwner(store, actorId, async (tx, actor) => {
      const ended = await tokens.endOthers(tx, actorId, kept)
      if (ended > 0) await live.record(tx, actor, 'sessions', [kept])
      return ended
    })
  }

  /**
   * Ends the sessions of these tokens, including expired tokens. Sessions on other devices and at the provider continue.
   * Tokens of clients are ignored.
   *
   * @param presented The tokens of one request.
   */
  async signOut(presented: readonly string[]): Promise<void> {
    for (const chain of (await this.#sessionsOf(presented)).values()) await this.#signOut(chain)
  }

  /**
   * Ends the sessions of a browser in which a session of the actor began: those of other actors, and the session of the page
   * cookie, which the new session replaces.
   *
   * @param presented The tokens in the cookies of the browser.
   * @returns true when any of the tokens belonged to another actor.
   */
  async endFormer(
    presented: readonly string[],
    { actorId, pageToken }: { readonly actorId: string; readonly pageToken: string | null },
  ): Promise<boolean> {
    const { store, tokens } = this.#deps
    const former = [...(await this.#sessionsOf(presented)).values()]
    const ofPage = pageToken === null ? null : await store.read((q) => tokens.chainOf(q, pageToken))
    for (const chain of former)
      if (chain.actorId !== actorId || chain.chainId === ofPage?.chainId) await this.#end(chain)
    return former.some((chain) => chain.actorId !== actorId)
  }

  async #sessionsOf(presented: readonly string[]): Promise<ReadonlyMap<string, Chain>> {
    const { store, tokens } = this.#deps
    const texts = [...new Set(presented)].filter((token) => recognizeToken(token)?.chain !== 'client')
    const found = await Promise.all(texts.map((token) => store.read((q) => tokens.chainOf(q, token))))
    const sessions = new Map<string, Chain>()
    for (const chain of found) if (chain?.kind === 'session') sessions.set(chain.chainId, chain)
    return sessions
  }

  async #end({ actorId, chainId }: Chain): Promise<void> {
    try {
      await this.end(actorId, chainId)
    } catch (error) {
      // The session was deleted with its actor.
      if (!(error instanceof ServiceError && error.code === 'actor_not_found')) throw error
    }
  }

  async #signOut({ actorId, chainId }: Chain): Promise<void> {
    const { store, tokens, live, onSignOut } = this.#deps
    try {
      await writeOwner(store, actorId, async (tx, actor) => {
        if (!(await tokens.endChain(tx, actorId, chainId))) return
        await onSignOut(tx, actorId)
        await live.record(tx, actor, 'sessions', [chainId])
      })
      noteAct(actorId, 'session.end', { session: chainId })
    } catch (error) {
      // The session was deleted with its actor.
      if (!(error instanceof ServiceError && error.code === 'actor_not_found')) throw error
    }
  }
}
