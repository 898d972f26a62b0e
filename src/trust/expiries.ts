/** Announces the ends of grants and approvals at their time, also after a restart, and polls for those of other processes. */
import { DueSearch } from '../due-search.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import { Poller } from '../poller.ts'
import type { AfterCommit, Store, Transaction } from '../store/store.ts'
import type { Timers } from '../timers.ts'
import { type ExpiryKey, findActorsWithExpiries, findExpired, findNextExpiry, noteExpiry } from './expiry-store.ts'

interface ExpiriesDeps {
  readonly store: Store & { readonly afterCommit: AfterCommit }
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  /** Removes what has ended, and notifies the peer. Does nothing for an end that another process has handled. */
  readonly expire: (key: ExpiryKey) => Promise<void>
}

/** How often this process looks for ends that another process stored. */
const defaultPollMs = 5000
const mostAtOnce = 100
/** An end may be any date, so a distant one does not show that the clock was set back. */
const latestDate = 8_640_000_000_000_000

export class Expiries {
  readonly #deps: ExpiriesDeps
  readonly #poller: Poller
  readonly #search: DueSearch
  readonly #pollMs: number

  constructor(deps: ExpiriesDeps) {
    this.#deps = deps
    this.#poller = new Poller(deps.timers, () => this.#look())
    this.#pollMs = deps.timers.pollMs ?? defaultPollMs
    this.#search = new DueSearch(deps, {
      name: 'expiries',
      pollMs: this.#pollMs,
      longestMs: latestDate,
      find: findNextExpiry,
      bringForward: () => Promise.resolve(),
      claim: () => this.#expireAll(null),
      dueActors: findActorsWithExpiries,
      bringActorForward: () => Promise.resolve(),
      claimOf: (actorId) => this.#expireAll(actorId),
      hasRoom: () => true,
    })
  }

  /** Stores an end in the transaction that created it. */
  async schedule(tx: Transaction, key: ExpiryKey, at: number): Promise<void> {
    await noteExpiry(tx, key, at)
    this.#deps.store.afterCommit(tx, () => {
      this.#search.note(key.actorId, at)
      this.wake()
    })
  }

  readonly wake = (): void => this.#poller.wake()

  /** Resolves when the current look has ended. */
  stop(): Promise<void> {
    return this.#poller.stop()
  }

  async settled(): Promise<void> {
    while (this.#poller.looking !== undefined) await this.#poller.looking
  }

  /** Returns when the next grant or approval ends, in Unix milliseconds; null when none does. */
  nextDue(): Promise<number | null> {
    return this.#search.nextDue()
  }

  async #look(): Promise<number> {
    try {
      return await this.#search.look()
    } catch (error) {
      this.#deps.log.warn({ error }, 'Cannot look for ended permissions; the next poll tries again')
      return this.#pollMs
    }
  }

  /** Resolves with true when ends of the actor may be left. */
  async #expireAll(actorId: string | null): Promise<boolean> {
    const { store, now, expire } = this.#deps
    const keys = await store.read((q) => findExpired(q, { now: now(), limit: mostAtOnce, actorId }))
    for (const key of keys) {
      try {
        await expire(key)
      } catch (error) {
        // The actor was deleted meanwhile.
        if (error instanceof ServiceError && error.code === 'actor_not_found') continue
        this.#deps.log.error({ error, ...key }, 'Cannot end the permissions of a peer; the next poll tries again')
        return true
      }
    }
    if (keys.length === mostAtOnce) this.wake()
    return keys.length === mostAtOnce
  }
}
