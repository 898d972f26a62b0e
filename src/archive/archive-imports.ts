/**
 * Imports of archives into actors that exist, by their owners (docs/decisions/083). The archive is stored and checked first,
 * so a bad one changes nothing. Then any process imports it in the background, and continues after a crash.
 */
import type { Actor } from '../actor/actor.ts'
import type { Caller } from '../caller.ts'
import type { Config } from '../config/options.ts'
import { quoted, ServiceError } from '../errors.ts'
import { unusableArchive } from './archived-content.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { abandon } from '../object/abandon-object.ts'
import { Arriving } from '../object/arriving.ts'
import { insertObject, keepObject, releaseObject } from '../object/object-store.ts'
import { leased } from '../object/object-lease.ts'
import { objectLeaseMs } from '../object/unused-objects.ts'
import type { ClaimedJob } from '../job/job-store.ts'
import { reasonOf, retryAt } from '../job/outcome.ts'
import { ended, later, singleRunQueue } from '../job/single-run.ts'
import type { JobQueue, RunResult } from '../job/worker.ts'
import type { Live } from '../live/live.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { PropertyModule } from '../property/create.ts'
import { randomId } from '../secret/random.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Timers } from '../timers.ts'
import { readRecords, RecordReader } from './archive-reader.ts'
import { checkArchive } from './check-archive.ts'
import type { WithTables } from '../table/table.ts'
import { unzippedArchive } from './gzip.ts'
import { limited } from './limited.ts'
import { endImport, findImport, type ImportState, insertImport, updateImport } from './import-store.ts'
import { type RecordImport, type Existing, mergeArchive, type MergeDeps } from './merge-archive.ts'
import { newReport } from './merge-report.ts'

export interface ArchiveImportsDeps
  extends WithTables,
    Pick<PropertyModule, 'properties' | 'listReader' | 'listWriter' | 'declared'> {
  readonly store: CatchUpStore
  readonly bytes: FileBytes
  /** Features add theirs before the first import. */
  readonly recordImports: readonly RecordImport[]
  readonly timers: Timers
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  readonly live: Pick<Live, 'record'>
  readonly config: Pick<Config, 'maxImportBytes' | 'maxBodyBytes' | 'maxJsonDepth'>
  /** Starts the import of the actor. */
  readonly wake: (actorId: string) => void
  /** Deletes the bytes of archives that are not needed any longer. */
  readonly wakeUnused: (actorId: string) => void
}

const maxRunning = 2
/** A line with a piece of a file fits. A longer value would occupy the process too long, and is refused anyway. */
const shortestLimit = 131_072
/** The progress is stored after so much time or so many records, and at the end. */
const storeEveryMs = 1000
const storeEveryRecords = 20_000

export class ArchiveImports {
  readonly #deps: ArchiveImportsDeps
  /** Unpacked, a short archive takes a thousand times its size. */
  readonly #arriving = new Arriving(1, 'This account', 'archives')

  constructor(deps: ArchiveImportsDeps) {
    this.#deps = deps
  }

  /**
   * Stores and checks the archive, and begins its import.
   *
   * @throws ServiceError `invalid_value` for what is not a complete archive; `conflict` while an import runs;
   *   `payload_too_large`, `insufficient_storage`; `too_many_requests` while another archive arrives; what `content` throws. Then
   *   nothing has changed.
   */
  async begin(
    actor: Actor,
    caller: Caller,
    content: AsyncIterable<Uint8Array>,
    existing: Existing,
  ): Promise<ImportState> {
    return this.#arriving.take(actor.id, async () => {
      if ((await this.find(actor.id))?.state === 'running') throw alreadyRunning()
      return this.#take(actor, caller, content, existing)
    })
  }

  async #take(
    actor: Actor,
    caller: Caller,
    content: AsyncIterable<Uint8Array>,
    existing: Existing,
  ): Promise<ImportState> {
    const { store, bytes, now, config } = this.#deps
    const key = { actorId: actor.id, object: randomId() }
    await store.write((tx) => insertObject(tx, key, now() + objectLeaseMs))
    const release = leased(this.#deps, key)
    try {
      await bytes.put(
        key.object,
        limited(unzippedArchive(content), config.maxImportBytes, 'Cannot import the archive: it'),
      )
      const state: ImportState = {
        id: randomId(),
        object: key.object,
        existing,
        ...(caller.kind === 'creator' && caller.session !== undefined ? { session: caller.session } : {}),
        records: await this.#check(key.object, actor),
        state: 'running',
        startedAt: now(),
        endedAt: null,
        reason: '',
        position: 0,
        added: 0,
        refusedItems: [],
        report: newReport(),
      }
      await store.changeActor(actor.id, async (tx, locked) => {
        if (!(await keepObject(tx, key)))
          throw new ServiceError('unavailable', 'Cannot import the archive: storing it took too long. Try again.')
        if (!(await insertImport(tx, actor.id, state))) throw alreadyRunning()
        await this.#deps.live.record(tx, locked, 'import', [state.id])
      })
      this.#deps.wake(actor.id)
      return state
    } catch (error) {
      await abandon(this.#deps, key, 'a refused archive')
      throw error
    } finally {
      release()
    }
  }

  /** The last import of the actor. */
  find(actorId: string): Promise<ImportState | null> {
    return this.#deps.store.read((q) => findImport(q, actorId))
  }

  /** Stops the running import. What it has imported stays. False: none runs. */
  async stop(actorId: string): Promise<boolean> {
    const { store, now, live, wakeUnused } = this.#deps
    const isStopped = await store.changeActor(actorId, async (tx, locked) => {
      const state = await findImport(tx, actorId)
      if (state?.state !== 'running') return false
      await endImport(tx, { actorId, lease: null }, { ...state, state: 'stopped', endedAt: now() })
      await releaseObject(tx, { actorId, object: state.object }, now())
      await live.record(tx, locked, 'import', [state.id])
      return true
    })
    if (isStopped) wakeUnused(actorId)
    return isStopped
  }

  readonly jobQueue: JobQueue = singleRunQueue(maxRunning, {
    kind: 'import',
    run: (job, signal) => this.#run(job, signal),
    longestMs: objectLeaseMs,
  })

  /** Reads the whole archive. Returns the number of its records. */
  async #check(object: string, { kind }: Pick<Actor, 'kind'>): Promise<number> {
    const records = await this.#open(object)
    try {
      const { records: count, actorKind } = await checkArchive(records, this.#deps.tables)
      if (actorKind !== kind)
        throw unusableArchive(`its actor is of the kind ${quoted(actorKind)}, and this one of ${quoted(kind)}`)
      return count
    } finally {
      await records.close()
    }
  }

  async #open(object: string): Promise<RecordReader> {
    const opened = await this.#deps.bytes.open(object, null)
    if (opened === null)
      throw new ServiceError('file_missing', 'Cannot import the archive: the storage for files has lost it')
    const { maxJsonDepth: depth, maxBodyBytes } = this.#deps.config
    return new RecordReader(readRecords(opened.bytes, { depth, line: Math.max(2 * maxBodyBytes, shortestLimit) }))
  }

  async #run(job: ClaimedJob, signal: AbortSignal): Promise<RunResult> {
    const { now, random, log, metrics } = this.#deps
    const { actorId, attempts } = job
    const state = JSON.parse(job.data) as ImportState
    const context = { requestId: state.id, actorId, peerId: null, call: 'import' }
    try {
      await runInBackground(() => this.#merge(job, state, signal), context)
      metrics.jobRun('import', 'done')
      return ended
    } catch (error) {
      if (signal.aborted || error === lost) return later(job, { dueAt: now(), attempts, reason: '' })
      const at = retryAt({ now: now(), attempts, random: random() })
      metrics.jobRun('import', at === null ? 'failed' : 'retry')
      log.warn({ error, actorId, attempt: attempts + 1 }, 'Cannot import an archive now; the service tries again')
      if (at !== null) return later(job, { dueAt: at, attempts: attempts + 1, reason: reasonOf(error) })
      await this.#end(job, { ...state, state: 'failed', reason: reasonOf(error) }).catch(() => {})
      return ended
    }
  }

  async #merge(job: ClaimedJob, state: ImportState, signal: AbortSignal): Promise<void> {
    const { now } = this.#deps
    const { existing, session, object } = state
    const caller: Caller = { kind: 'creator', via: 'cookie', ...(session === undefined ? {} : { session }) }
    const access = { actor: { id: job.actorId, creator: job.creator, kind: job.actorKind }, caller }
    let [storedAt, storedRecords] = [now(), state.position]
    const deps: MergeDeps = { ...this.#deps, maxValueBytes: this.#deps.config.maxBodyBytes }
    await mergeArchive(
      deps,
      {
        access,
        existing,
        signal,
        step: async ({ position, added }, must) => {
          const isDue =
            must === 'must' || now() - storedAt >= storeEveryMs || position + added - storedRecords >= storeEveryRecords
          if (!isDue) return
          await this.#store(job, state)
          ;[storedAt, storedRecords] = [now(), position + added]
        },
      },
      () => this.#open(object),
      state,
    )
    await this.#end(job, { ...state, state: 'done' })
  }

  async #store(job: ClaimedJob, state: ImportState): Promise<void> {
    const { store, live } = this.#deps
    await store.writeActor(job.actorId, async (tx, locked) => {
      if (!(await updateImport(tx, job, state))) throw lost
      await live.record(tx, locked, 'import', [state.id])
    })
  }

  async #end(job: ClaimedJob, state: ImportState): Promise<void> {
    const { store, now, live, wakeUnused } = this.#deps
    const { actorId } = job
    await store.writeActor(actorId, async (tx, locked) => {
      if (!(await endImport(tx, job, { ...state, endedAt: now() }))) throw lost
      await releaseObject(tx, { actorId, object: state.object }, now())
      await live.record(tx, locked, 'import', [state.id])
    })
    wakeUnused(actorId)
  }
}

/** The import was stopped, or another process continues it. */
const lost = new Error('The lease of the import is gone')

function alreadyRunning(): ServiceError {
  return new ServiceError('conflict', 'Cannot import the archive: another import runs. Wait until it ends, or stop it.')
}
