/**
 * Appends to the same list that wait at the same time are stored together. Each keeps its own position, origin and outcome
 * (docs/decisions/065).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { JsonText } from '../json/json.ts'
import * as list from '../list/list.ts'
import { originText } from '../origin.ts'
import type { LockedActor } from '../store/store.ts'
import type { Access } from './access.ts'
import type { ActorWriter } from './change.ts'
import type { DeclaredData } from './declared-data.ts'
import { listDiff } from './list-diff.ts'

export interface SharedAppendsDeps {
  readonly writer: Pick<ActorWriter, 'changeEach'>
  readonly declared: Pick<DeclaredData, 'addressOf' | 'ensureList'>
  readonly now: () => number
}

const mostItems = 32
const mostCharacters = 262_144
/** The most lists that are remembered because their actor has subscriptions or is watched. */
const mostObserved = 1000

/** An append that passed its checks. */
interface Append {
  readonly access: Access
  readonly item: JsonText
  readonly origin: string
  readonly resolve: (index: number) => void
  readonly reject: (error: unknown) => void
  /** Stores the item in a transaction of its own, in the async context of its own request. */
  readonly storeAlone: () => void
}

/** Appends that one transaction stores. */
interface Together {
  readonly key: string
  readonly name: string
  /** Whether the transaction creates a missing list. */
  readonly creates: boolean
  appends: readonly [Append, ...Append[]]
  characters: number
  /** Resolves when the transaction holds the lock of the actor, or has failed. */
  readonly begun: PromiseWithResolvers<void>
}

export class SharedAppends {
  readonly #deps: SharedAppendsDeps
  /** Appends whose transaction has not begun, by list. */
  readonly #waiting = new Map<string, Together>()
  /** Lists whose items are stored one by one, because each change is announced with its own origin. */
  readonly #observed = new Set<string>()

  constructor(deps: SharedAppendsDeps) {
    this.#deps = deps
  }

  /**
   * Appends an item to the list, without checks of rights and without hooks. Returns its position.
   *
   * @throws ServiceError `actor_not_found`, `not_found`, `list_corrupted`, `store_unavailable`
   */
  append(access: Access, name: string, item: JsonText, creates: boolean): Promise<number> {
    const key = JSON.stringify([access.actor.id, name, creates])
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const alone = (): Together => {
      return { key, name, creates, appends: [append], characters: item.length, begun: Promise.withResolvers() }
    }
    const append: Append = {
      access,
      item,
      origin: originText(access.caller),
      resolve,
      reject,
      storeAlone: AsyncLocalStorage.bind(() => void this.#store(alone())),
    }
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined && hasRoom(waiting, item)) {
      waiting.appends = [...waiting.appends, append]
      waiting.characters += item.length
    } else {
      const together = alone()
      if (!this.#observed.has(key)) this.#waiting.set(key, together)
      // A full transaction may still wait for the lock of the actor, so another would overtake it.
      if (waiting === undefined) void this.#store(together)
      else void waiting.begun.promise.then(() => this.#store(together))
    }
    return promise
  }

  async #store(together: Together): Promise<void> {
    const { name, creates } = together
    const [{ access, origin }] = together.appends
    const { writer, declared, now } = this.#deps
    let isStored = false
    try {
      const indexes = await writer.changeEach(access.actor.id, origin, async (tx, record, actor) => {
        isStored = false
        this.#close(together, actor)
        const { appends } = together
        const at = declared.addressOf(actor.id, name)
        await declared.ensureList(tx, at, now())
        if (creates) await list.createList(tx, at, {}, now())
        const changes = await list.appendEach(tx, at, appends, now())
        for (const [n, change] of changes.entries())
          await record(listDiff(name, change), appends[n]?.access.caller ?? access.caller)
        isStored = true
        return changes.map(({ index }) => index)
      })
      for (const [n, { resolve }] of together.appends.entries()) resolve(indexes[n] ?? 0)
    } catch (error) {
      const { appends, begun } = together
      begun.resolve()
      if (this.#waiting.get(together.key) === together) this.#waiting.delete(together.key)
      // An error before the commit stored nothing, so each append gets its own outcome. After it, the outcome is unknown.
      if (!isStored && appends.length > 1) for (const { storeAlone } of appends) storeAlone()
      else for (const { reject } of appends) reject(error)
    }
  }

  /** Takes no further appends. When each change is announced with its origin, only the first append stays. */
  #close(together: Together, actor: LockedActor): void {
    const { key, begun } = together
    begun.resolve()
    if (this.#waiting.get(key) === together) this.#waiting.delete(key)
    const isObserved = actor.subscriptionCount > 0 || actor.watchedUntil >= this.#deps.now()
    if (!isObserved) {
      this.#observed.delete(key)
      return
    }
    if (this.#observed.size >= mostObserved) this.#observed.clear()
    this.#observed.add(key)
    const [first, ...others] = together.appends
    together.appends = [first]
    for (const { storeAlone } of others) storeAlone()
  }
}

function hasRoom({ appends, characters }: Together, item: JsonText): boolean {
  return appends.length < mostItems && characters + item.length <= mostCharacters
}
