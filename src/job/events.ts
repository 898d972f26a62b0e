/** The events of changes: stored with the change when the application handles them, and handled after the commit. */
import type { ActorHandles } from '../app/actor-handles.ts'
import type { Registry } from '../app/registry.ts'
import { known } from '../json/json.ts'
import type { Log } from '../observe/log.ts'
import { currentContext } from '../observe/context.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { ChangeSink } from '../property/change.ts'
import { randomId } from '../secret/random.ts'
import type { AfterCommit, LockedActor, Store, Transaction } from '../store/store.ts'
import { isLoop } from '../subscription/hop-limit.ts'
import type { Timers } from '../timers.ts'
import { changeCaller, type ChangeEventName, eventParts, eventFacts, type StoredEvent } from './change-event.ts'
import { appendEntries, type EntryOutcome, findJobEntries, type WaitingEntry } from './entry-store.ts'
import { runHandler } from './handlers.ts'
import type { ClaimedJob } from './job-store.ts'
import { reasonOf, retryAt } from './outcome.ts'
import type { JobQueue, RunResult } from './worker.ts'

export interface EventsDeps {
  readonly store: Store & { readonly afterCommit: AfterCommit }
  readonly registry: Registry
  readonly handles: ActorHandles
  readonly timers: Timers
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  /** Starts the handling of the actor's events after their commit. */
  readonly wake: (actorId: string) => void
}

/** Events that one run handles. A crash repeats at most this many. */
const maxEvents = 16
const maxRunning = 64
const queue = { kind: 'event', id: '' } as const
/** No regular delay is longer. */
const longestMs = 3_600_000

const names: readonly ChangeEventName[] = ['property_changed', 'list_changed', 'file_changed']

export class StoredEvents {
  readonly #deps: EventsDeps
  readonly #handled: ReadonlySet<ChangeEventName>

  constructor(deps: EventsDeps) {
    this.#deps = deps
    this.#handled = new Set(
      names.filter((name) => deps.registry.all.some((each) => each.eventHandlers(name).length > 0)),
    )
  }

  /** Whether the application handles any event of a change. */
  get isHandled(): boolean {
    return this.#handled.size > 0
  }

  readonly sink: ChangeSink = async (tx, actor, changes) => {
    if (this.#handled.size === 0) return
    for (const part of eventParts(changes)) await this.record(tx, actor, part)
  }

  /** Stores the events that the application handles, in the transaction of their change. */
  async record(tx: Transaction, actor: Pick<LockedActor, 'id'>, changed: readonly StoredEvent[]): Promise<void> {
    const { store, now, log, wake } = this.#deps
    const events = changed.filter(({ type }) => this.#handled.has(type))
    if (events.length === 0) return
    const hops = currentContext()?.hops ?? 0
    if (isLoop(hops + 1)) {
      log.error({ actorId: actor.id, hops }, 'A change has no event: it ended a loop of handlers that change data')
      return
    }
    const entries = events.map(({ type, data }) => ({ entryId: randomId(), type, data }))
    const made = { now: now(), hops: hops + 1, origin: tx.origin }
    await appendEntries(tx, { actorId: actor.id, kind: queue.kind }, [{ id: queue.id, entries }], made)
    store.afterCommit(tx, () => wake(actor.id))
  }

  readonly jobQueue: JobQueue = {
    kind: queue.kind,
    run: (job, signal) => this.#run(job, signal),
    hostOf: ({ actorId }) => actorId,
    most: { running: maxRunning, ofActor: 1, ofHost: 1 },
    longestMs,
  }

  /** Handles the next events of the actor, until one fails. */
  async #run(job: ClaimedJob, signal: AbortSignal): Promise<RunResult> {
    const { store, now, log } = this.#deps
    try {
      const entries = await store.read((q) => findJobEntries(q, job, { after: job.done, limit: maxEvents }))
      const outcomes: EntryOutcome[] = []
      let { done } = job
      for (const [index, entry] of entries.entries()) {
        // The row counts the attempts for its first entry.
        const failure = await this.#handle(job, entry, index === 0 ? job.attempts : 0, signal)
        if (failure !== null && failure.retryAt !== null) return this.#postponed(job, { done, outcomes, ...failure })
        done = entry.number
        outcomes.push(outcomeOf(entry, failure === null ? 'delivered' : 'failed', failure?.reason ?? ''))
      }
      // Entries may be missing, because the purge has deleted them.
      if (entries.length === 0) done = job.last
      return { settled: { ...fresh, done, dueAt: now() }, entries: outcomes }
    } catch (error) {
      log.warn({ error, actorId: job.actorId }, 'Cannot read the events of an actor; the next attempt reads again')
      return this.#postponed(job, { done: job.done, outcomes: [], reason: '', retryAt: now() + 1000, attempts: 0 })
    }
  }

  #postponed(
    job: ClaimedJob,
    { done, outcomes, reason, retryAt: dueAt, attempts }: Postponed & { readonly retryAt: number | null },
  ): RunResult {
    const now = this.#deps.now()
    const since = done === job.done ? job.failingSince : null
    return {
      settled: { done, dueAt: dueAt ?? now, state: 'live', attempts, failingSince: since ?? now, reason },
      entries: outcomes,
    }
  }

  /** Null: the handlers succeeded. */
  async #handle(
    { actorId, creator, actorKind }: ClaimedJob,
    entry: WaitingEntry,
    attempts: number,
    signal: AbortSignal,
  ): Promise<Failed | null> {
    const { registry, handles, timers, now, random, log, metrics } = this.#deps
    const event = {
      ...eventFacts(known(entry.data)),
      id: entry.entryId,
      at: new Date(entry.createdAt),
      caller: changeCaller(entry.origin),
      attempt: attempts + 1,
    }
    const name = entry.type as ChangeEventName
    try {
      const context = { actorId, hops: entry.hops, call: `event ${name}`, signal }
      await runHandler(timers, context, async (handlerSignal) => {
        const call = { ...event, actor: handles.of({ id: actorId, creator, kind: actorKind }), signal: handlerSignal }
        // `eventParts` has written the facts of this event.
        const handlers: readonly ((event: never) => unknown)[] = registry.of({ kind: actorKind }).eventHandlers(name)
        for (const handler of handlers) await handler(call as never)
      })
      metrics.jobRun('event', 'done')
      return null
    } catch (error) {
      if (signal.aborted) return { reason: '', retryAt: now(), attempts }
      const at = retryAt({ now: now(), attempts, random: random() })
      metrics.jobRun('event', at === null ? 'failed' : 'retry')
      const facts = { error, actorId, event: name, id: entry.entryId, attempt: attempts + 1 }
      if (at === null) log.error(facts, 'An event handler failed too often; the event waits for troupe redrive')
      else log.warn(facts, 'An event handler failed; it runs again')
      return { reason: reasonOf(error), retryAt: at, attempts: attempts + 1 }
    }
  }
}

interface Failed {
  readonly reason: string
  /** Null: the event is given up. */
  readonly retryAt: number | null
  readonly attempts: number
}

interface Postponed extends Failed {
  readonly done: number
  readonly outcomes: readonly EntryOutcome[]
}

const fresh = { state: 'live', attempts: 0, failingSince: null, reason: '' } as const

function outcomeOf(entry: WaitingEntry, outcome: 'delivered' | 'failed', reason: string): EntryOutcome {
  const { number, attempts } = entry
  return { number, outcome, attempts: attempts + 1, sentAt: null, answeredAt: null, status: null, reason }
}
