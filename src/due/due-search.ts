/**
 * Finds work that is stored with a due time. On a plain database, each process looks for the work of all actors. On a
 * sharded database, a process claims the work of the actors that it has just changed, and one process at a time searches
 * all servers (docs/decisions/045).
 */
import { isTemporary } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import { claimDue, type DueWork } from './poller.ts'
import type { Param, Store, Transaction } from '../store/store.ts'

/** Due work of a sharded database. */
export interface ShardedWork extends DueWork {
  /** Names the turns of the processes. */
  readonly name: string
  /** Returns the statement that finds up to `most` actors (`FoundActor`) with work due until `until`, or after `latest`. */
  readonly dueActors: (until: number, latest: number, most: number) => readonly [sql: string, ...params: Param[]]
  /** Like `bringForward`, for one actor. */
  readonly bringActorForward: (tx: Transaction, actorId: string, latest: number, now: number) => Promise<unknown>
  /** Claims the due work of one actor. Resolves with true when due work may be left. */
  readonly claimOf: (actorId: string) => Promise<boolean>
  /** Whether this process can take more work. Otherwise it leaves the search to the others. */
  readonly hasCapacity: () => boolean
}

interface FoundActor {
  readonly actorId: string
  /** The earliest due time of its work. Default: the work is due. */
  readonly next?: number
  /** The latest due time of its work. */
  readonly last: number
}

export interface DueSearchDeps {
  readonly store: Pick<Store, 'isSharded' | 'read' | 'write' | 'readAllServers'>
  readonly now: () => number
  readonly log: Log
}

/** Actors per search of all servers. */
const maxFound = 500
/** Concurrent claims. Each is a transaction of its own, so that a server that is down fails only the claims of its actors. */
const maxClaiming = 4
/** A turn ends a little before the next look of the process that took it. */
const earlyMs = 100
/** Rows for the turns of one search, on different servers, because a server may be down. */
const places = 8
/** Time after which a process tries the first place again, in milliseconds. */
const placeMs = 30_000
/** Work with a longer interval of polling is searched seldom. A failed search or claim of it is repeated after this time. */
const soonMs = 5000

export class DueSearch {
  readonly #deps: DueSearchDeps
  readonly #work: ShardedWork
  /**
   * Whether a process must not depend on the next turn. Each process then searches at its start, because a killed one may
   * have the turn, and each search finds what is due until the next one, because a killed process may have leases.
   */
  readonly #isSeldom: boolean
  /** Actors whose work this process has changed, each with its due times. 0: now. */
  readonly #noted = new Map<string, Set<number>>()
  /** Actors whose work could not be claimed completely. */
  #left = new Set<string>()
  /** Whether the next search needs no turn. */
  #isOwed: boolean
  #askedAt = Number.NEGATIVE_INFINITY
  #place = 0
  #placedAt = Number.NEGATIVE_INFINITY

  constructor(deps: DueSearchDeps, work: ShardedWork) {
    this.#deps = deps
    this.#work = work
    this.#isSeldom = work.pollMs > soonMs
    this.#isOwed = this.#isSeldom
  }

  /** Remembers an actor with work for the next look. A plain database needs no such memory. */
  note(actorId: string, dueAt = 0): void {
    if (!this.#deps.store.isSharded) return
    // The search of all servers finds work that is due later.
    const now = this.#deps.now()
    if (dueAt > now + this.#work.pollMs) return
    const times = this.#noted.get(actorId) ?? new Set()
    this.#noted.set(actorId, times.add(dueAt > now ? dueAt : 0))
  }

  /** Returns when the next work of a plain database is due, in Unix milliseconds; null when none waits. */
  async nextDue(): Promise<number | null> {
    return (await this.#deps.store.read(this.#work.find))?.next ?? null
  }

  /** Claims due work. Returns the milliseconds until the next look. */
  async look(): Promise<number> {
    const { store, now } = this.#deps
    const { pollMs } = this.#work
    if (!store.isSharded) return claimDue(this.#deps, this.#work)
    await this.#claimAll(this.#takeNoted())
    if (!this.#work.hasCapacity()) return pollMs
    if (Math.abs(now() - this.#askedAt) >= this.#pauseMs) {
      this.#askedAt = now()
      await this.#searchInTurn()
    }
    let next = Math.min(this.#askedAt + this.#pauseMs, now() + pollMs)
    for (const times of this.#noted.values()) for (const dueAt of times) next = Math.min(next, dueAt)
    return Math.max(0, next - now())
  }

  /** The time between two searches. */
  get #pauseMs(): number {
    return this.#isOwed ? soonMs : this.#work.pollMs
  }

  #takeNoted(): ReadonlySet<string> {
    const taken = this.#left
    this.#left = new Set()
    const now = this.#deps.now()
    for (const [actorId, times] of this.#noted) {
      for (const dueAt of times) {
        if (dueAt > now) continue
        times.delete(dueAt)
        taken.add(actorId)
      }
      if (times.size === 0) this.#noted.delete(actorId)
    }
    return taken
  }

  async #searchInTurn(): Promise<void> {
    const isOwed = this.#isOwed
    this.#isOwed = this.#isSeldom
    if ((await this.#takeTurn()) || isOwed) await this.#search()
    this.#isOwed = false
  }

  async #search(): Promise<void> {
    const { store, now } = this.#deps
    const { dueActors, bringActorForward, longestMs, pollMs } = this.#work
    const found = await store.readAllServers<FoundActor>(
      ...dueActors(this.#isSeldom ? now() + pollMs : now(), now() + longestMs, maxFound),
    )
    // Work that was stored during the search has a later due time, and is not late.
    const latest = now() + longestMs
    const isLate = new Set(found.filter(({ last }) => last > latest).map(({ actorId }) => actorId))
    const due = new Set<string>()
    for (const { actorId, next = 0 } of found) {
      if (next > now() && !isLate.has(actorId)) this.note(actorId, next)
      else due.add(actorId)
    }
    await this.#claimAll(due, async (actorId) => {
      if (isLate.has(actorId)) await store.write((tx) => bringActorForward(tx, actorId, now() + longestMs, now()))
    })
  }

  /** A failed claim is logged. The search finds its actor again. Where it is seldom, the claim is repeated without it. */
  async #claimAll(actorIds: ReadonlySet<string>, before?: (actorId: string) => Promise<void>): Promise<void> {
    const waiting = [...actorIds]
    const claimNext = async (): Promise<void> => {
      for (let actorId = waiting.shift(); actorId !== undefined; actorId = waiting.shift()) {
        try {
          await before?.(actorId)
          if (await this.#work.claimOf(actorId)) this.#left.add(actorId)
        } catch (error) {
          this.#deps.log.warn(
            { error, actorId },
            `Cannot claim the ${this.#work.name} of an actor; the search tries again`,
          )
          if (this.#isSeldom) this.note(actorId, this.#deps.now() + soonMs)
        }
      }
    }
    await Promise.all(Array.from({ length: maxClaiming }, claimNext))
  }

  /** Whether this process searches now. A second search does no harm, so no server is needed for the decision. */
  async #takeTurn(): Promise<boolean> {
    const { store, now } = this.#deps
    const { name, pollMs } = this.#work
    if (Math.abs(now() - this.#placedAt) >= placeMs) this.#place = 0
    for (; this.#place < places; this.#place += 1) {
      const key = `${name} ${this.#place}`
      try {
        return await store.write((tx) => takeTurn(tx, key, now(), pollMs - earlyMs), { durability: 'relaxed' })
      } catch (error) {
        if (!isTemporary(error)) throw error
        this.#placedAt = now()
      }
    }
    return true
  }
}

/** Takes a turn that lasts `turnMs`, unless another process has it. A turn is a rate limit of all processes together. */
async function takeTurn(tx: Transaction, key: string, now: number, turnMs: number): Promise<boolean> {
  const taken = await tx.run(
    `/* search */ INSERT INTO rate_limit (key, empty_at, refused) VALUES ($1, CAST($2 AS BIGINT) + CAST($3 AS BIGINT), 0)
     ON CONFLICT (key) DO UPDATE SET empty_at = excluded.empty_at
     WHERE rate_limit.empty_at <= $2 OR rate_limit.empty_at > excluded.empty_at`,
    key,
    now,
    turnMs,
  )
  return taken === 1
}
