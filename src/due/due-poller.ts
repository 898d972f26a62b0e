/** The loop of a worker that looks for due work when it is woken, at the next due time, and by polling for other processes. */
import { DueSearch, type DueSearchDeps, type ShardedWork } from './due-search.ts'
import { Poller } from './poller.ts'
import type { Timers } from '../timers.ts'

export interface DuePollerDeps extends DueSearchDeps {
  readonly timers: Timers
}

const defaultPollMs = 5000
/** The longest pause after a failed look. */
const longestRetryMs = 5000

export class DuePoller {
  readonly #log: DuePollerDeps['log']
  readonly #warning: string
  readonly #pollMs: number
  readonly #poller: Poller
  readonly #search: DueSearch

  /**
   * @param work `pollMs` has the interval of polling for the work of other processes. Default: 5 seconds.
   * @param warning The log message of a failed look. The next look follows within 5 seconds.
   */
  constructor(
    deps: DuePollerDeps,
    work: Omit<ShardedWork, 'pollMs'> & Partial<Pick<ShardedWork, 'pollMs'>>,
    warning: string,
  ) {
    this.#log = deps.log
    this.#warning = warning
    this.#pollMs = deps.timers.pollMs ?? work.pollMs ?? defaultPollMs
    this.#poller = new Poller(deps.timers, () => this.#look())
    this.#search = new DueSearch(deps, { ...work, pollMs: this.#pollMs })
  }

  get isStopping(): boolean {
    return this.#poller.isStopping
  }

  /** The current look; undefined while idle. */
  get looking(): Promise<void> | undefined {
    return this.#poller.looking
  }

  /** Looks now. On a sharded database, the look at `dueAt` claims the work of this actor. Default: now. */
  readonly wake = (actorId?: string, dueAt?: number): void => {
    if (actorId !== undefined) this.#search.note(actorId, dueAt)
    this.#poller.wake()
  }

  /** Prevents further looks. Resolves when the current look has ended. */
  stop(): Promise<void> {
    return this.#poller.stop()
  }

  /** Resolves when no look runs. */
  async settled(): Promise<void> {
    while (this.looking !== undefined) await this.looking
  }

  /** Returns when the next work is due, in Unix milliseconds; null when none waits. */
  nextDue(): Promise<number | null> {
    return this.#search.nextDue()
  }

  async #look(): Promise<number> {
    try {
      return await this.#search.look()
    } catch (error) {
      this.#log.warn({ error }, this.#warning)
      return Math.min(this.#pollMs, longestRetryMs)
    }
  }
}
