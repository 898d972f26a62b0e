/** The processes that serve the store: each one stores a sign of life, so that operators see which ones run. */
import { hostname } from 'node:os'
import { Poller } from '../due/poller.ts'
import type { Log } from '../observe/log.ts'
import { commit, release } from '../release.ts'
import { randomId } from '../secret/random.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import type { Timers } from '../timers.ts'

/** Times are Unix milliseconds. */
export interface RunningProcess {
  readonly id: string
  /** `0.2.0 (1a2b3c4d)`: the release, and the beginning of the commit. */
  readonly release: string
  /** Name of its machine or container. */
  readonly host: string
  readonly startedAt: number
  readonly seenAt: number
}

const beatMs = 30_000
/** A process without a sign of life for so long has ended, or cannot reach the database. */
export const silentMs = 3 * beatMs
/** The row of a process that was killed stays for a day, so that operators see it. */
const keptMs = 86_400_000
const maxShown = 100

export interface HeartbeatDeps {
  readonly store: Pick<Store, 'write' | 'now'>
  readonly timers: Timers
  readonly log: Pick<Log, 'warn'>
  /** Runs with each sign of life: reads what operators changed for all processes. */
  readonly follow?: () => Promise<void>
}

/** Stores the sign of life of this process twice a minute, from the first `wake` on. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps
  readonly #poller: Poller
  readonly #id = randomId()
  #startedAt: number | null = null
  #isFailing = false

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps
    this.#poller = new Poller(deps.timers, () => this.#beat())
  }

  readonly wake = (): void => this.#poller.wake()

  /** Deletes the row. A database that cannot be reached does not delay the end. */
  async stop(): Promise<void> {
    await this.#poller.stop()
    if (this.#startedAt === null) return
    await this.#deps.store.write((tx) => tx.run('DELETE FROM process WHERE id = $1', this.#id)).catch(() => {})
  }

  async #beat(): Promise<number> {
    const { store, log, follow } = this.#deps
    const now = store.now()
    this.#startedAt ??= now
    const row = { id: this.#id, release: shownRelease(), host: hostname(), startedAt: this.#startedAt, seenAt: now }
    try {
      await store.write((tx) => storeProcess(tx, row), { durability: 'relaxed' })
      await follow?.()
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) log.warn({ error }, 'Cannot store the sign of life of this process')
      this.#isFailing = true
    }
    return beatMs
  }
}

function shownRelease(): string {
  const known = commit()
  return known === 'unknown' ? release : `${release} (${known.slice(0, 8)})`
}

async function storeProcess(
  tx: Transaction,
  { id, release: of, host, startedAt, seenAt }: RunningProcess,
): Promise<void> {
  await tx.run(
    `INSERT INTO process (id, release, host, started_at, seen_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (id) DO UPDATE SET seen_at = EXCLUDED.seen_at`,
    id,
    of,
    host,
    startedAt,
    seenAt,
  )
  await tx.run('DELETE FROM process WHERE seen_at < $1', seenAt - keptMs)
}

/** Returns the processes, those with the newest sign of life first. */
export function findProcesses(q: Queries): Promise<RunningProcess[]> {
  return q.all<RunningProcess>(
    `SELECT id, release, host, started_at AS "startedAt", seen_at AS "seenAt" FROM process
     ORDER BY seen_at DESC, id LIMIT $1`,
    maxShown,
  )
}
