import type { Runtime } from '../runtime.ts'
import { Alarms } from './alarms.ts'
import { Cleaning } from './cleaning.ts'
import { deleteOldEntries } from './entry-store.ts'
import { StoredEvents } from './events.ts'
import { countJobs, deleteOldJobs } from './job-store.ts'
import { Schedules } from './schedules.ts'
import { JobWorker, type JobWorkerDeps } from './worker.ts'

const dayMs = 86_400_000

export type JobModule = ReturnType<typeof createJobs>

export function workerDeps(runtime: Runtime): JobWorkerDeps {
  return { ...runtime, shutdownMs: runtime.config.shutdownSeconds * 1000 }
}

/** Creates the events, alarms and schedules of the application. */
export function createJobs(runtime: Runtime) {
  const { config, registry, store, metrics, now, live } = runtime
  const deps = workerDeps(runtime)
  const events: StoredEvents = new StoredEvents({ ...runtime, wake: (actorId) => eventWorker.wake(actorId) })
  const eventWorker = new JobWorker(deps, events.jobQueue)
  const alarms: Alarms = new Alarms({
    ...runtime,
    declared: (kind) => registry.find(kind)?.background.alarms,
    isDeclared: registry.all.some(({ background }) => background.alarms.size > 0),
    wake: (actorId, dueAt) => alarmWorker.wake(actorId, dueAt),
  })
  const alarmWorker = new JobWorker(deps, alarms.jobQueue)
  const schedules = new Schedules({ ...deps, random: runtime.random, declared: registry.background.schedules })
  let counting: ReturnType<typeof countJobs> | undefined
  const jobGauge = (name: string, help: string, of: 'due' | 'failed'): void =>
    metrics.gauge({ name, help, label: 'kind' }, async () => {
      // Both gauges are read at the same time, so one statement counts for both.
      counting ??= countJobs(store, now()).finally(() => (counting = undefined))
      return (await counting).map((jobs) => ({ name: jobs.kind, count: jobs[of] }))
    })
  jobGauge('troupe_job_backlog', 'Queues with work and other due work, in the whole store', 'due')
  jobGauge('troupe_job_failed', 'Work in the background that waits for a redrive', 'failed')
  return {
    alarms,
    events,
    /** The workers of what the application declares. */
    jobs: new Jobs([
      ...(events.isHandled ? [eventWorker] : []),
      ...(alarms.isDeclared ? [alarmWorker] : []),
      schedules,
      new Cleaning(runtime, 'old background work', async () => {
        const before = now() - config.maxDiffAgeDays * dayMs
        await store.write((tx) => deleteOldEntries(tx, before))
        await store.write((tx) => deleteOldJobs(tx, before))
        // A stream deletes them while it lasts. The last ones before its end stay, and may contain values.
        await live.deleteOld()
      }),
    ]),
  }
}

/** A worker of a room or feature. */
export interface BackgroundWorker {
  wake(): void
  settled(): Promise<void>
  nextDue(): Promise<number | null>
  stop(): Promise<void>
}

/** All workers of background work as one. */
export class Jobs {
  #workers: readonly BackgroundWorker[]

  constructor(workers: readonly BackgroundWorker[]) {
    this.#workers = workers
  }

  /** Adds the worker of another room, while the service is assembled. */
  add(worker: BackgroundWorker): void {
    this.#workers = [...this.#workers, worker]
  }

  wake(): void {
    for (const worker of this.#workers) worker.wake()
  }

  /** Resolves when nothing runs. Work that is due later does not count. */
  async settled(): Promise<void> {
    for (const worker of this.#workers) await worker.settled()
  }

  /** Returns when the next work is due, in Unix milliseconds; null when none waits. */
  async nextDue(): Promise<number | null> {
    const due = await Promise.all(this.#workers.map((worker) => worker.nextDue()))
    const times = due.filter((time) => time !== null)
    return times.length === 0 ? null : Math.min(...times)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()))
  }
}
