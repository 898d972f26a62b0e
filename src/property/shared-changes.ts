/**
 * Changes of the same data that wait at the same time are stored by one transaction. Each keeps its own origin, result and
 * outcome (docs/decisions/065).
 */
import { ServiceError } from '../errors.ts'
import { originText } from '../origin.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { Access } from './access.ts'
import type { ActorWriter, RecordBy } from './change.ts'

export interface SharedChangesDeps<T, R> {
  readonly writer: Pick<ActorWriter, 'changeEach'>
  /** Whether changes of the actor are announced, each with its own origin. */
  readonly isObserved: (actor: LockedActor) => boolean
  /** Stores the changes in their order. Runs again after a conflict. */
  readonly store: (tx: Transaction, record: RecordBy, actor: LockedActor, changes: SharedChangeList<T>) => Promise<R>
}

/** A change that passed its checks. */
export interface SharedChange<T> {
  readonly access: Access
  readonly given: T
  readonly origin: string
}

export type SharedChangeList<T> = readonly [SharedChange<T>, ...SharedChange<T>[]]

/** The result of `store`, and the place of the change among those that it stored. */
export interface SharedResult<R> {
  readonly result: R
  readonly place: number
}

const maxChanges = 32
const maxCharacters = 262_144
/** The most keys that are remembered because their changes are announced. */
const maxObserved = 1000

/** `alone`: nothing was stored, so the change runs in a transaction of its own. */
type Outcome<R> = SharedResult<R> | 'alone'

interface Waiting<T, R> extends SharedChange<T> {
  readonly resolve: (outcome: Outcome<R>) => void
  readonly reject: (error: unknown) => void
}

/** Changes that one transaction stores. */
interface Together<T, R> {
  readonly key: string
  changes: [Waiting<T, R>, ...Waiting<T, R>[]]
  characters: number
  /** Resolves when the transaction holds the lock of the actor, or has failed. Null while no change waits for that. */
  begun: PromiseWithResolvers<void> | null
}

export class SharedChanges<T, R> {
  readonly #deps: SharedChangesDeps<T, R>
  /** Changes whose transaction has not begun, by key. */
  readonly #waiting = new Map<string, Together<T, R>>()
  /** Keys whose changes are stored one by one, because each change is announced with its own origin. */
  readonly #observed = new Set<string>()

  constructor(deps: SharedChangesDeps<T, R>) {
    this.#deps = deps
  }

  /**
   * Stores a change together with the changes of the same key that wait.
   *
   * @param key Changes with the same key are of the same actor.
   * @param characters Size of the change.
   * @throws ServiceError `actor_not_found`, `store_unavailable`, and the errors of `store`
   */
  async add(key: string, access: Access, given: T, characters: number): Promise<SharedResult<R>> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<R>>()
    const change = { access, given, origin: originText(access.caller), resolve, reject }
    this.#join(key, change, characters)
    const outcome = await promise
    // After the wait, the change runs in the async context of its own request.
    return outcome === 'alone' ? { result: await this.#storeAlone(change), place: 0 } : outcome
  }

  #join(key: string, change: Waiting<T, R>, characters: number): void {
    const waiting = this.#waiting.get(key)
    if (
      waiting !== undefined &&
      waiting.changes.length < maxChanges &&
      waiting.characters + characters <= maxCharacters
    ) {
      waiting.changes.push(change)
      waiting.characters += characters
      return
    }
    const together: Together<T, R> = { key, changes: [change], characters, begun: null }
    if (!this.#observed.has(key)) this.#waiting.set(key, together)
    void this.#storeAfter(waiting, together)
  }

  /** A full transaction may still wait for the lock of the actor, so another would overtake it. */
  async #storeAfter(full: Together<T, R> | undefined, together: Together<T, R>): Promise<void> {
    if (full !== undefined) await (full.begun ??= Promise.withResolvers()).promise
    await this.#store(together)
  }

  async #store(together: Together<T, R>): Promise<void> {
    const { access, origin } = together.changes[0]
    const { writer, store } = this.#deps
    let isStored = false
    try {
      const result = await writer.changeEach(access.actor.id, origin, async (tx, record, actor) => {
        isStored = false
        this.#close(together, actor)
        const stored = await store(tx, record, actor, together.changes)
        isStored = true
        return stored
      })
      for (const [place, { resolve }] of together.changes.entries()) resolve({ result, place })
    } catch (error) {
      const { changes } = together
      this.#begin(together)
      // An error before the commit stored nothing, so each change gets its own outcome. After it, the outcome is unknown. Together,
      // changes may exceed a quota that some of them fit in.
      const isRefused = error instanceof ServiceError && error.code === 'quota_exceeded'
      if ((!isStored || isRefused) && changes.length > 1) for (const { resolve } of changes) resolve('alone')
      else for (const { reject } of changes) reject(error)
    }
  }

  #storeAlone(change: SharedChange<T>): Promise<R> {
    const { writer, store } = this.#deps
    return writer.changeEach(change.access.actor.id, change.origin, (tx, record, actor) =>
      store(tx, record, actor, [change]),
    )
  }

  /** Takes no further changes. When each change is announced with its origin, only the first one stays. */
  #close(together: Together<T, R>, actor: LockedActor): void {
    const { key } = together
    this.#begin(together)
    if (!this.#deps.isObserved(actor)) {
      this.#observed.delete(key)
      return
    }
    if (this.#observed.size >= maxObserved) this.#observed.clear()
    this.#observed.add(key)
    const [first, ...others] = together.changes
    together.changes = [first]
    for (const { resolve } of others) resolve('alone')
  }

  #begin(together: Together<T, R>): void {
    together.begun?.resolve()
    if (this.#waiting.get(together.key) === together) this.#waiting.delete(together.key)
  }
}
