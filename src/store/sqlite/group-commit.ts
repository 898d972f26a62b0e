/**
 * The one writer of this process. Writes that wait at the same moment share one COMMIT, and so one sync of the disk:
 * each runs in a savepoint of its own, and every caller is answered only after that COMMIT.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'
import type { Durability, LockedActor, StoreLog, Transaction, WriteOptions } from '../store.ts'
import { busyDelayMs } from './busy.ts'
import type { Connection } from './connection.ts'
import type { DatabaseFile } from './database-file.ts'
import { isBusy, translate, unavailable } from './failure.ts'
import { Statements } from './statements.ts'

export interface GroupCommitOptions {
  /** `FULL` waits for the disk with each COMMIT that anything but notes is in. */
  readonly synchronous: 'FULL' | 'NORMAL'
  /** How many writes share one COMMIT at most. */
  readonly batchSize: number
  /** How long a write waits for the lock of another process (milliseconds). */
  readonly busyTimeoutMs: number
  readonly log: StoreLog
}

interface Job {
  readonly run: (statements: Statements) => Promise<unknown>
  /** `Transaction.origin` */
  readonly origin: string
  readonly durability: Durability
  readonly queuedAt: number
  /** Set once it ran in a transaction that another job took down; it runs a second time and no third. */
  repeated: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** What a job came to; kept from its caller until the COMMIT, since even a refusal may rest on an earlier job's change. */
interface Outcome {
  readonly job: Job
  readonly failed: boolean
  /** What the caller is told: the result or the error. */
  readonly value: unknown
  /** What SQLite raised, if it did. */
  readonly raised: unknown
}

export class GroupCommit {
  readonly #file: DatabaseFile
  readonly #options: GroupCommitOptions
  #connection: Connection | undefined
  /** What the connection is set to; a new one has the setting of the options. */
  #waitsForDisk: boolean
  #waiting: Job[] = []
  #active = false
  #idle: (() => void) | undefined

  constructor(file: DatabaseFile, connection: Connection, options: GroupCommitOptions) {
    this.#file = file
    this.#connection = connection
    this.#options = options
    this.#waitsForDisk = options.synchronous === 'FULL'
  }

  write<T>(work: (tx: Transaction) => Promise<T>, { durability }: WriteOptions): Promise<T> {
    return this.#enqueue((statements) => work(statements), { durability })
  }

  writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#enqueue((statements) => work(statements, statements.lockActor(actorId)), { origin })
  }

  /** Proves that a change can be stored: the same value is written again. */
  async probe(): Promise<void> {
    await this.#enqueue(async (statements) => statements.touch())
    this.#file.recovered()
  }

  /** Resolves when nothing waits any more. */
  async close(): Promise<void> {
    if (this.#active) await new Promise<void>((resolve) => (this.#idle = resolve))
    this.#connection?.close()
    this.#connection = undefined
  }

  #enqueue<T>(
    run: (statements: Statements) => Promise<T>,
    {
      durability = 'full',
      origin = '',
    }: Pick<WriteOptions, 'durability'> & { readonly origin?: string | undefined } = {},
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // What resolves is what `run` returned.
      this.#waiting.push({
        // The work belongs to its own request, not to the one whose write woke the writer.
        run: AsyncLocalStorage.bind(run),
        origin,
        durability,
        queuedAt: performance.now(),
        repeated: false,
        resolve: resolve as (value: unknown) => void,
        reject,
      })
      if (this.#active) return
      this.#active = true
      setImmediate(this.#next)
    })
  }

  readonly #next = (): void => {
    this.#batch().then(this.#proceed, (error: unknown) => {
      // Nothing is expected here; should it happen, those who wait must not wait for ever.
      this.#options.log('error', 'The writer of the database failed', error)
      this.#discardConnection()
      this.#rejectWaiting(unavailable('The writer of the database failed', error))
      this.#proceed()
    })
  }

  readonly #proceed = (): void => {
    if (this.#waiting.length > 0) {
      setImmediate(this.#next)
      return
    }
    this.#active = false
    this.#idle?.()
  }

  async #batch(): Promise<void> {
    const connection = await this.#begin()
    if (connection === undefined) return
    const jobs = this.#take()
    const outcomes: Outcome[] = []
    for (const job of jobs) {
      const outcome = await attempt(connection, job)
      outcomes.push(outcome)
      // A full disk or a fault may take the whole transaction with it, and with it what the jobs before had done.
      if (!connection.inTransaction) {
        this.#file.notice(outcome.raised)
        const innocent = outcomes.slice(0, -1).filter((other) => !other.job.repeated)
        for (const { job } of innocent) job.repeated = true
        this.#waiting = [...innocent.map((other) => other.job), ...jobs.slice(outcomes.length), ...this.#waiting]
        this.#abandon(
          outcomes.filter((other) => !innocent.includes(other)),
          asUnavailable(outcome.raised),
        )
        return
      }
    }
    try {
      connection.control('COMMIT')
    } catch (error) {
      // A sync that failed may still have reached the disk, to be found there after a crash.
      this.#abandon(outcomes, this.#file.notice(error) ? outcomeUnknown(error) : asUnavailable(error))
      return
    }
    for (const { job, failed, value, raised } of outcomes) {
      if (failed) {
        if (this.#file.notice(raised)) this.#discardConnection()
        job.reject(value)
      } else job.resolve(value)
    }
  }

  /** Takes the write lock. Undefined when nobody waits any more because it could not be had. */
  async #begin(): Promise<Connection | undefined> {
    for (let count = 0; ; count++) {
      try {
        this.#file.requirePresent()
        const connection = (this.#connection ??= this.#connect())
        this.#setSync(connection)
        connection.control('BEGIN IMMEDIATE')
        return connection
      } catch (error) {
        if (!isBusy(error)) {
          if (this.#file.notice(error)) this.#discardConnection()
          this.#rejectWaiting(translate(error))
          return undefined
        }
        this.#expire(error)
        if (this.#waiting.length === 0) return undefined
      }
      await pause(busyDelayMs(count, Math.random()))
    }
  }

  #connect(): Connection {
    const connection = this.#file.connectWriter()
    this.#waitsForDisk = this.#options.synchronous === 'FULL'
    return connection
  }

  /** For those who share the next COMMIT: in a transaction it cannot be changed. */
  #setSync(connection: Connection): void {
    const { synchronous, batchSize } = this.#options
    const waits =
      synchronous === 'FULL' && this.#waiting.slice(0, batchSize).some(({ durability }) => durability === 'full')
    if (waits === this.#waitsForDisk) return
    connection.control(`PRAGMA synchronous = ${waits ? 'FULL' : 'NORMAL'}`)
    this.#waitsForDisk = waits
  }

  #take(): Job[] {
    const { synchronous, batchSize } = this.#options
    // What came since then and has to reach the disk waits for the next COMMIT.
    const mustWait = synchronous === 'FULL' && !this.#waitsForDisk
    const late = mustWait ? this.#waiting.findIndex(({ durability }) => durability === 'full') : -1
    return this.#waiting.splice(0, late < 0 ? batchSize : Math.min(late, batchSize))
  }

  /** Sends away those who have waited long enough for a lock. */
  #expire(error: unknown): void {
    const oldest = performance.now() - this.#options.busyTimeoutMs
    const expired = this.#waiting.filter((job) => job.queuedAt <= oldest)
    if (expired.length === 0) return
    this.#waiting = this.#waiting.filter((job) => job.queuedAt > oldest)
    for (const job of expired) job.reject(translate(error))
  }

  /** The transaction did not come about: nobody's change was stored. */
  #abandon(outcomes: readonly Outcome[], error: unknown): void {
    // What the connection holds in memory rests on pages that were not stored.
    this.#discardConnection()
    for (const { job } of outcomes) job.reject(error)
  }

  #rejectWaiting(error: unknown): void {
    const jobs = this.#waiting
    this.#waiting = []
    for (const job of jobs) job.reject(error)
  }

  #discardConnection(): void {
    const connection = this.#connection
    this.#connection = undefined
    try {
      connection?.close()
    } catch (error) {
      this.#options.log('warn', 'A connection to the database could not be closed', error)
    }
  }
}

async function attempt(connection: Connection, job: Job): Promise<Outcome> {
  const statements = new Statements(connection, job.origin)
  try {
    connection.control('SAVEPOINT job')
    const value = await job.run(statements)
    statements.finish()
    connection.control('RELEASE job')
    return { job, failed: false, value, raised: undefined }
  } catch (error) {
    statements.close()
    const raised = statements.failure ?? error
    try {
      if (connection.inTransaction) {
        connection.control('ROLLBACK TO job')
        connection.control('RELEASE job')
      }
    } catch {
      // Without a way back for this job alone the others cannot be kept either.
      rollback(connection)
    }
    return { job, failed: true, value: translate(error), raised }
  }
}

/** What is left of a transaction that cannot be ended is dropped with its connection. */
function rollback(connection: Connection): void {
  try {
    connection.control('ROLLBACK')
  } catch {
    connection.close()
  }
}

function asUnavailable(error: unknown): unknown {
  const translated = translate(error)
  return translated instanceof ServiceError && translated.code === 'store_unavailable'
    ? translated
    : unavailable('The change could not be stored', error)
}

function outcomeUnknown(cause: unknown): ServiceError {
  return new ServiceError(
    'store_unavailable',
    'Storage failed during the commit: whether the change was made is unknown',
    {
      reason: 'The disk below the database failed',
      cause,
    },
  )
}
