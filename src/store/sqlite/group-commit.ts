/**
 * The single writer of this process. Writes that wait at the same time share one COMMIT, and so one fsync. Each after the first
 * runs in its own savepoint, and all resolve only after that COMMIT.
 */
import { AsyncResource } from 'node:async_hooks'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'
import type { Durability, LockedActor, StoreLog, Transaction, WriteOptions } from '../store.ts'
import { busyDelayMs } from './busy.ts'
import { checkpointOnThread } from './checkpoint.ts'
import type { Connection } from './connection.ts'
import type { DatabaseFile } from './database-file.ts'
import type { DiskReserve } from './disk-reserve.ts'
import { diskFull, isBusy, isFull, translate, unavailable } from './failure.ts'
import type { ReadLock } from './read-lock.ts'
import { Statements, tooLong } from './statements.ts'
import { WriterTurn } from './writer-turn.ts'

export interface GroupCommitOptions {
  /** `FULL` waits for the disk at each COMMIT, except when all its writes have the durability `relaxed`. */
  readonly synchronous: 'FULL' | 'NORMAL'
  /** Maximum number of writes that share one COMMIT. */
  readonly batchSize: number
  /** Timeout for the lock of another process, in milliseconds. */
  readonly busyTimeoutMs: number
  /** The space for deletions on a full disk. */
  readonly reserve: DiskReserve
  readonly log: StoreLog
}

/** The default of SQLite. */
const CHECKPOINT_PAGES = 1000

interface Job {
  readonly run: (statements: Statements) => Promise<unknown>
  /** `Transaction.origin` */
  readonly origin: string
  readonly durability: Durability
  readonly queuedAt: number
  /** True after another job aborted the shared transaction. The job is repeated only once. */
  repeated: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The outcome of a job. It is withheld until the COMMIT, because even a rejection may depend on an earlier job's change. */
interface Outcome {
  readonly job: Job
  readonly failed: boolean
  /** The result or the error for the caller. */
  readonly value: unknown
  /** The original error of SQLite, if any. */
  readonly raised: unknown
  /** Whether the job failed as the first one, and the transaction was rolled back with it. */
  readonly isUndone: boolean
}

export class GroupCommit {
  readonly #file: DatabaseFile
  readonly #readLock: ReadLock
  readonly #options: GroupCommitOptions
  readonly #turn = new WriterTurn()
  #connection: Connection | undefined
  /** Whether the connection is set to `synchronous = FULL`. */
  #waitsForDisk: boolean
  #waiting: Job[] = []
  #active = false
  #idle: (() => void) | undefined

  constructor(file: DatabaseFile, connection: Connection, readLock: ReadLock, options: GroupCommitOptions) {
    this.#file = file
    this.#connection = connection
    this.#readLock = readLock
    this.#options = options
    this.#waitsForDisk = options.synchronous === 'FULL'
  }

  write<T>(work: (tx: Transaction) => Promise<T>, { durability, origin }: WriteOptions): Promise<T> {
    return this.#enqueue((statements) => work(statements), { durability, origin })
  }

  writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#enqueue((statements) => work(statements, statements.lockActor(actorId)), { origin })
  }

  /** Number of changes that wait. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Checks that the database can store a change, by writing an unchanged value. */
  async probe(): Promise<void> {
    await this.#enqueue(async (statements) => statements.touch())
    this.#file.recovered()
  }

  /** Resolves after all waiting writes. */
  async close(): Promise<void> {
    if (this.#active) await new Promise<void>((resolve) => (this.#idle = resolve))
    this.#connection?.close()
    this.#connection = undefined
  }

  #enqueue<T>(
    run: (statements: Statements) => Promise<T>,
    { durability = 'full', origin = '' }: Pick<WriteOptions, 'durability' | 'origin'> = {},
  ): Promise<T> {
    // Runs the work in the async context of its own request, not of the request that woke the writer.
    const context = new AsyncResource('troupe.change')
    return new Promise<T>((resolve, reject) => {
      // The cast is safe, because `resolve` receives only the result of `run`.
      this.#waiting.push({
        run: (statements) => context.runInAsyncScope(run, undefined, statements),
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
      // No error is expected here. If one occurs, waiting writes must not hang forever.
      this.#options.log('error', 'Database writer failed unexpectedly', error)
      this.#discardConnection()
      this.#rejectWaiting(unavailable('Database writer failed unexpectedly', error))
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
    const { reserve } = this.#options
    this.#turn.begin()
    for (const [place, job] of jobs.entries()) {
      const isFirst = place === 0
      const outcome = await attempt(connection, job, { isFull: reserve.isInUse, isFirst, turn: this.#turn })
      if (outcome.raised === tooLong) {
        this.#waiting = [...jobs.slice(place), ...this.#waiting]
        break
      }
      outcomes.push(outcome)
      if (this.#repeats(jobs, outcome.raised)) return
      if (outcome.isUndone) {
        this.#waiting = [...jobs.slice(1), ...this.#waiting]
        if (!connection.database.isOpen) this.#discardConnection()
        this.#settle(outcomes)
        return
      }
      // A full disk or a failure may roll back the whole transaction, including the changes of earlier jobs.
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
      // A longer transaction would have a longer COMMIT, during which the event loop stands still.
      if (this.#turn.isLongJob || this.#turn.fillsLog) {
        this.#waiting = [...jobs.slice(place + 1), ...this.#waiting]
        break
      }
    }
    await this.#commit(connection, jobs, outcomes)
  }

  async #commit(connection: Connection, jobs: readonly Job[], outcomes: readonly Outcome[]): Promise<void> {
    const isLarge = this.#turn.fillsLog
    // A long job may have outlived the file.
    if (!this.#isPresent(connection, outcomes)) return
    try {
      if (isLarge) await postponeCheckpoint(connection)
      this.#readLock.release()
      connection.control('COMMIT')
    } catch (error) {
      if (this.#repeats(jobs.slice(0, outcomes.length), error)) return
      // A commit whose sync failed may still be on the disk and reappear after a crash.
      this.#abandon(outcomes, this.#file.notice(error) ? outcomeUnknown(error) : asUnavailable(error))
      return
    }
    this.#settle(outcomes)
    if (isLarge) await this.#checkpoint(connection)
  }

  /** Whether the file is still there. If not, rolls the transaction back and rejects its jobs. */
  #isPresent(connection: Connection, outcomes: readonly Outcome[]): boolean {
    try {
      this.#file.requirePresent()
      return true
    } catch (error) {
      rollback(connection)
      if (!connection.database.isOpen) this.#discardConnection()
      for (const { job } of outcomes) job.reject(error)
      return false
    }
  }

  #settle(outcomes: readonly Outcome[]): void {
    for (const { job, failed, value, raised } of outcomes) {
      if (failed) {
        if (this.#file.notice(raised)) this.#discardConnection()
        job.reject(value)
      } else job.resolve(value)
    }
  }

  /**
   * Makes up for the checkpoint that was not a part of the COMMIT. As then, a failed checkpoint is left to the next COMMIT, and
   * the next transaction waits: SQLite begins the log again only when all of it is in the file.
   */
  async #checkpoint(connection: Connection): Promise<void> {
    await nextTurn()
    try {
      await checkpointOnThread(this.#file.path, this.#options.synchronous)
    } catch (error) {
      this.#options.log('warn', 'Cannot copy the log of the database into its file', error)
    }
    if (connection === this.#connection) connection.control(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  }

  /** Runs the jobs again with the reserve, when the disk is full. Among the jobs may be a deletion. */
  #repeats(jobs: readonly Job[], error: unknown): boolean {
    if (!isFull(error) || !this.#options.reserve.use()) return false
    this.#discardConnection()
    this.#waiting = [...jobs, ...this.#waiting]
    return true
  }

  /** Takes the write lock. Returns undefined when all waiting writes have failed without it. */
  async #begin(): Promise<Connection | undefined> {
    let busySince: number | undefined
    for (let count = 0; ; count++) {
      try {
        this.#file.requirePresent()
        this.#options.reserve.restore()
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
        busySince ??= performance.now()
        this.#expire(error, busySince)
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

  /** Sets `synchronous` for the writes of the next COMMIT, because SQLite cannot change it within a transaction. */
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
    // A `full` write that arrived after `#setSync` waits for the next COMMIT.
    const mustWait = synchronous === 'FULL' && !this.#waitsForDisk
    const late = mustWait ? this.#waiting.findIndex(({ durability }) => durability === 'full') : -1
    return this.#waiting.splice(0, late < 0 ? batchSize : Math.min(late, batchSize))
  }

  /** Rejects the writes whose timeout for the lock has passed. The time behind other jobs of this process does not count. */
  #expire(error: unknown, busySince: number): void {
    const oldest = performance.now() - this.#options.busyTimeoutMs
    const isExpired = (job: Job): boolean => Math.max(job.queuedAt, busySince) <= oldest
    const expired = this.#waiting.filter(isExpired)
    if (expired.length === 0) return
    this.#waiting = this.#waiting.filter((job) => !isExpired(job))
    for (const job of expired) job.reject(translate(error))
  }

  /** Rejects all jobs of a transaction that failed. */
  #abandon(outcomes: readonly Outcome[], error: unknown): void {
    // The page cache of the connection contains pages that were not stored.
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
      this.#options.log('warn', 'Cannot close a connection to the database', error)
    }
  }
}

/** Lets the COMMIT of a large transaction run in a turn of its own, and the copying of the log into the file in the next one. */
async function postponeCheckpoint(connection: Connection): Promise<void> {
  await nextTurn()
  connection.control('PRAGMA wal_autocheckpoint = 0')
}

interface AttemptOptions {
  /** Whether the disk is full. Then only a deletion may make the database larger. */
  readonly isFull: boolean
  /** Whether the transaction has no other job yet. */
  readonly isFirst: boolean
  readonly turn: WriterTurn
}

/**
 * The first job needs no savepoint, because nothing else is undone with it. SQLite keeps a copy of each page that changes after
 * a savepoint in memory, and looks through all of these copies after each statement.
 */
async function attempt(connection: Connection, job: Job, { isFull, isFirst, turn }: AttemptOptions): Promise<Outcome> {
  const statements = new Statements(connection, job.origin, { isWatched: isFull, turn, mayBeLong: isFirst })
  turn.beginJob()
  try {
    if (!isFirst) connection.control('SAVEPOINT job')
    const pages = isFull ? connection.pageCount() : 0
    const value = await job.run(statements)
    statements.finish()
    if (isFull && !statements.frees && connection.pageCount() > pages) throw diskFull()
    if (!isFirst) connection.control('RELEASE job')
    return { job, failed: false, value, raised: undefined, isUndone: false }
  } catch (error) {
    statements.close()
    const raised = statements.failure ?? error
    const isUndone = isFirst && connection.inTransaction
    try {
      if (connection.inTransaction && !isFirst) {
        connection.control('ROLLBACK TO job')
        connection.control('RELEASE job')
      }
    } catch {
      // If this job cannot be rolled back alone, the whole transaction must be.
      rollback(connection)
    }
    if (isUndone) rollback(connection)
    return { job, failed: true, value: translate(error), raised, isUndone }
  }
}

/** Rolls the transaction back, or closes the connection when that fails. */
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
    : unavailable('Cannot store the change', error)
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
