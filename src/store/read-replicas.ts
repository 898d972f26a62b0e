/**
 * Reads from read replicas of the database, for callers that accept data of a stated age.
 *
 * The age is measured by a heartbeat: a row with the time, which processes write to the database while such reads happen. A
 * replica that shows the heartbeat of a time also shows everything that was committed before it. Each read fetches the
 * heartbeat in its own snapshot, so the age is exact for every connection, also behind a load balancer.
 */
import { ServiceError } from '../errors.ts'
import type { Queries, Store, StoreLog } from './store.ts'

export type Reads = Pick<Store, 'read' | 'snapshot'>

export interface ReadReplica extends Pick<Store, 'snapshot' | 'close'> {
  /** The host and database, for the log. */
  readonly name: string
}

/** Reads that may be old. `work` may run a second time, on the database itself. */
export interface StaleReads extends Reads {
  /** Age of the oldest data that a replica returned, in milliseconds. Null when no replica answered. */
  readonly ageMs: number | null
}

export interface ReadReplicasDeps {
  readonly store: Pick<Store, 'read' | 'snapshot' | 'write' | 'now'>
  readonly replicas: readonly ReadReplica[]
  readonly log: StoreLog
  /** A monotonic clock in milliseconds. */
  readonly monotonic?: () => number
}

/** Name of the heartbeat in the table of settings. */
const HEARTBEAT = 'replica_heartbeat'
/** The shortest time between two heartbeats of a process, so the least age that a replica shows is about this long. */
const beatMs = 1_000
/** A replica that failed is not used for this time. */
const restMs = 5_000

interface Slot {
  readonly replica: ReadReplica
  restsUntil: number
}

export class ReadReplicas {
  readonly #deps: ReadReplicasDeps
  readonly #slots: readonly Slot[]
  readonly #monotonic: () => number
  #next = 0
  #beatenAt = Number.NEGATIVE_INFINITY

  constructor(deps: ReadReplicasDeps) {
    this.#deps = deps
    this.#monotonic = deps.monotonic ?? (() => performance.now())
    this.#slots = deps.replicas.map((replica) => ({ replica, restsUntil: Number.NEGATIVE_INFINITY }))
  }

  /**
   * Returns reads of data that is at most `maxMs` old. A replica that fails or is older does not answer; the database
   * itself does. Further reads of the same object stay there, so that they never go back in time.
   */
  within(maxMs: number): StaleReads {
    const slot = maxMs > 0 ? this.#pick() : undefined
    if (slot !== undefined) this.#beat()
    return new Within(this.#deps.store, slot?.replica, maxMs, (error) => {
      if (slot === undefined) return
      slot.restsUntil = this.#monotonic() + restMs
      this.#deps.log('warn', `The read replica ${slot.replica.name} failed: the database answers in its place`, error)
    })
  }

  async close(): Promise<void> {
    await Promise.all(this.#slots.map(({ replica }) => replica.close()))
  }

  /** The next replica that did not just fail. */
  #pick(): Slot | undefined {
    const usable = this.#slots.filter(({ restsUntil }) => restsUntil <= this.#monotonic())
    this.#next += 1
    return usable[this.#next % Math.max(1, usable.length)]
  }

  /** Writes the heartbeat without waiting. A failed one only makes the replicas appear older. */
  #beat(): void {
    const { store } = this.#deps
    if (this.#monotonic() - this.#beatenAt < beatMs) return
    this.#beatenAt = this.#monotonic()
    const time = String(store.now())
    store
      .write(
        (tx) =>
          tx.run(
            `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
               WHERE CAST(setting.value AS BIGINT) < CAST(excluded.value AS BIGINT)`,
            HEARTBEAT,
            time,
          ),
        { durability: 'relaxed' },
      )
      .catch(() => {})
  }
}

class Within implements StaleReads {
  readonly #store: Pick<Store, 'read' | 'snapshot' | 'now'>
  readonly #maxMs: number
  readonly #onFailure: (error: unknown) => void
  #replica: ReadReplica | undefined
  #ageMs: number | null = null

  constructor(
    store: Pick<Store, 'read' | 'snapshot' | 'now'>,
    replica: ReadReplica | undefined,
    maxMs: number,
    onFailure: (error: unknown) => void,
  ) {
    this.#store = store
    this.#replica = replica
    this.#maxMs = maxMs
    this.#onFailure = onFailure
  }

  get ageMs(): number | null {
    return this.#ageMs
  }

  async read<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    const found = await this.#fromReplica(work)
    return found === null ? this.#store.read(work) : found.value
  }

  async snapshot<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    const found = await this.#fromReplica(work)
    return found === null ? this.#store.snapshot(work) : found.value
  }

  /** Null when the database itself must answer. @throws the error of `work` when the replica is young enough. */
  async #fromReplica<T>(work: (q: Queries) => Promise<T>): Promise<{ readonly value: T } | null> {
    const replica = this.#replica
    if (replica === undefined) return null
    try {
      // Both leave in one packet, so the age costs no further round trip.
      const [beat, result] = await replica.snapshot((q) => Promise.allSettled([lastBeat(q), work(q)]))
      // The estimated clock may be a moment behind an earlier heartbeat of another process.
      const ageMs = beat.status === 'fulfilled' ? Math.max(0, this.#store.now() - beat.value) : Number.POSITIVE_INFINITY
      if (ageMs <= this.#maxMs) {
        this.#ageMs = Math.max(this.#ageMs ?? 0, ageMs)
        if (result.status === 'fulfilled') return { value: result.value }
        if (isOutcome(result.reason)) throw result.reason
        this.#onFailure(result.reason)
      }
    } catch (error) {
      if (isOutcome(error)) throw error
      this.#onFailure(error)
    }
    this.#replica = undefined
    return null
  }
}

/** Whether the error is the answer to the read, such as a damaged list, and no failure of the replica. */
function isOutcome(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code !== 'store_unavailable'
}

/** The time of the last heartbeat that the snapshot shows. Zero without one. */
async function lastBeat(q: Queries): Promise<number> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', HEARTBEAT)
  return Number(row?.value ?? 0)
}
