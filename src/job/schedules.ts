/**
 * Runs the schedules of the application. Each occurrence has one process, which leases it in the store. A killed process loses
 * its lease, and another one runs the occurrence again.
 */
import { randomUUID } from 'node:crypto'
import type { DeclaredSchedule } from '../app/background/background-declarations.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { Poller } from '../due/poller.ts'
import type { Store } from '../store/store.ts'
import type { Timers } from '../timers.ts'
import { runHandler } from './handlers.ts'
import { reasonOf, retryAt } from './outcome.ts'
import {
  claimSchedule,
  endSchedule,
  findSchedules,
  type Occurrence,
  putSchedule,
  renewSchedule,
} from './schedule-store.ts'

export interface SchedulesDeps {
  readonly store: Store
  readonly declared: ReadonlyMap<string, DeclaredSchedule>
  readonly timers: Timers
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  /** Time for running handlers to end when the service stops. */
  readonly shutdownMs: number
}

/** The occurrence of a killed process runs again after so long. */
const leaseMs = 10_000
const renewMs = 3000
/** Interval of polling for the leases of other processes that have ended. */
const defaultPollMs = 5000
/** Time for aborted handlers to end. */
const stopMs = 1000

interface Running {
  readonly done: Promise<void>
  readonly abort: AbortController
}

export class Schedules {
  readonly #deps: SchedulesDeps
  readonly #poller: Poller
  readonly #pollMs: number
  readonly #running = new Map<string, Running>()
  #isStored = false

  constructor(deps: SchedulesDeps) {
    this.#deps = deps
    this.#pollMs = deps.timers.pollMs ?? defaultPollMs
    this.#poller = new Poller(deps.timers, () => this.#look())
  }

  readonly wake = (): void => {
    if (this.#deps.declared.size > 0) this.#poller.wake()
  }

  /** Resolves when no occurrence runs. */
  async settled(): Promise<void> {
    while (this.#poller.looking !== undefined || this.#running.size > 0)
      await Promise.all([this.#poller.looking, ...[...this.#running.values()].map(({ done }) => done)])
  }

  /** Returns when the next occurrence is due, in Unix milliseconds; null when the application has no schedule. */
  async nextDue(): Promise<number | null> {
    const { store, declared } = this.#deps
    if (declared.size === 0) return null
    const due = [...(await store.read((q) => findSchedules(q, [...declared.keys()]))).values()]
    return due.length === 0 ? null : Math.min(...due)
  }

  /** Starts no occurrence. Gives the running ones some time, and then leaves them to another process. */
  async stop(): Promise<void> {
    await this.#poller.stop()
    const all = Promise.all([...this.#running.values()].map(({ done }) => done))
    await this.#within(this.#deps.shutdownMs, all)
    for (const { abort } of this.#running.values()) abort.abort(new Error('The service stops'))
    await this.#within(stopMs, all)
  }

  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const { promise: timeUp, resolve } = Promise.withResolvers<void>()
    const cancel = this.#deps.timers.setTimer(ms, resolve)
    await Promise.race([work, timeUp])
    cancel()
  }

  /** Starts the due occurrences. Returns the milliseconds until the next look. */
  async #look(): Promise<number> {
    const { store, declared, now, log } = this.#deps
    try {
      if (!this.#isStored) await this.#put()
      const due = await store.read((q) => findSchedules(q, [...declared.keys()]))
      const waiting: number[] = []
      for (const schedule of declared.values()) {
        const dueAt = due.get(schedule.name)
        if (dueAt === undefined || this.#running.has(schedule.name)) continue
        if (dueAt <= now()) await this.#begin(schedule)
        else waiting.push(dueAt)
      }
      return Math.min(this.#pollMs, ...waiting.map((at) => Math.max(0, at - now())))
    } catch (error) {
      log.warn({ error }, 'Cannot look for due schedules; the next poll tries again')
      return this.#pollMs
    }
  }

  async #put(): Promise<void> {
    const { store, declared, now } = this.#deps
    for (const { name, timing } of declared.values())
      await store.write((tx) => putSchedule(tx, name, timing.text, timing.first(now())))
    this.#isStored = true
  }

  async #begin(schedule: DeclaredSchedule): Promise<void> {
    const { store, now } = this.#deps
    const { name, timing } = schedule
    const lease = randomUUID()
    const claim = { timing: timing.text, now: now(), until: now() + leaseMs, lease }
    const occurrence = await store.write((tx) => claimSchedule(tx, name, claim))
    if (occurrence === null) return
    const abort = new AbortController()
    const done = this.#run(schedule, occurrence, lease, abort).finally(() => {
      this.#running.delete(name)
      this.#poller.wake()
    })
    this.#running.set(name, { done, abort })
  }

  async #run(
    { name, timing, handler }: DeclaredSchedule,
    { scheduledAt, attempts }: Occurrence,
    lease: string,
    abort: AbortController,
  ): Promise<void> {
    const { timers, now, log } = this.#deps
    const startedAt = now()
    const stopRenewal = this.#keep(name, lease, abort)
    let failure: unknown = null
    try {
      const { signal } = abort
      await runHandler(timers, { actorId: null, hops: 0, call: `schedule ${name}`, signal, limitMs: null }, async () =>
        handler({ name, scheduledAt: new Date(scheduledAt), attempt: attempts + 1, signal }),
      )
    } catch (error) {
      failure = error ?? new Error('The handler failed')
    }
    await stopRenewal()
    const next = timing.next(scheduledAt, startedAt)
    const judged = this.#judge(failure, { name, scheduledAt, attempts, next }, abort.signal)
    try {
      await this.#deps.store.write((tx) =>
        endSchedule(tx, name, { ...judged, lease, ran: scheduledAt, endedAt: now() }),
      )
    } catch (error) {
      log.warn({ error, schedule: name }, 'Cannot store the end of a schedule; it runs again after its lease')
    }
  }

  /** A failed occurrence is repeated until the next one is due. */
  #judge(
    failure: unknown,
    run: { readonly name: string; readonly scheduledAt: number; readonly attempts: number; readonly next: number },
    signal: AbortSignal,
  ): { readonly scheduledAt: number; readonly dueAt: number; readonly attempts: number; readonly reason: string } {
    const { now, random, log, metrics } = this.#deps
    const { name, scheduledAt, attempts, next } = run
    if (failure === null) {
      metrics.jobRun('schedule', 'done')
      return { scheduledAt: next, dueAt: next, attempts: 0, reason: '' }
    }
    if (signal.aborted) return { scheduledAt, dueAt: now(), attempts, reason: '' }
    const at = retryAt({ now: now(), attempts, random: random() })
    const facts = { error: failure, schedule: name, attempt: attempts + 1 }
    const reason = reasonOf(failure)
    if (at !== null && at < next) {
      metrics.jobRun('schedule', 'retry')
      log.warn(facts, 'The handler of a schedule failed; it runs again')
      return { scheduledAt, dueAt: at, attempts: attempts + 1, reason }
    }
    metrics.jobRun('schedule', 'failed')
    log.error(facts, 'The handler of a schedule failed; the next occurrence is the next attempt')
    return { scheduledAt: next, dueAt: next, attempts: 0, reason }
  }

  /** Renews the lease until the returned function is called. */
  #keep(name: string, lease: string, abort: AbortController): () => Promise<void> {
    const { store, timers, now, log } = this.#deps
    let renewing = Promise.resolve()
    let isOver = false
    let cancel = (): void => {}
    const renew = async (): Promise<void> => {
      try {
        const isKept = await store.write((tx) => renewSchedule(tx, name, lease, now() + leaseMs))
        if (!isKept) abort.abort(new Error('Another process has taken over this occurrence'))
      } catch (error) {
        log.warn({ error, schedule: name }, 'Cannot renew the lease of a schedule')
      }
      if (!isOver && !abort.signal.aborted) later()
    }
    const later = (): void => {
      cancel = timers.setTimer(renewMs, () => {
        renewing = renew()
      })
    }
    later()
    return () => {
      isOver = true
      cancel()
      return renewing
    }
  }
}
