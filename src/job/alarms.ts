/** Alarms of actors: durable, and run at their time by any process. */
import type { Alarm } from '../app/background/alarms.ts'
import type { ActorHandles } from '../app/actor-handles.ts'
import type { DeclaredAlarmHandler } from '../app/background/background-declarations.ts'
import { quoted, ServiceError } from '../errors.ts'
import { fromPlain, known, toPlain } from '../json/json.ts'
import { currentContext } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { randomId } from '../secret/random.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Transaction } from '../store/store.ts'
import type { Timers } from '../timers.ts'
import { deleteAlarm, findAlarms, type NewAlarm, putAlarm, type StoredAlarm } from './alarm-store.ts'
import { runHandler } from './handlers.ts'
import type { ClaimedJob } from './job-store.ts'
import { reasonOf, retryAt } from './outcome.ts'
import type { JobQueue, RunResult } from './worker.ts'

export interface AlarmsDeps {
  readonly store: CatchUpStore
  /** The alarms that the application declares for a kind of actors. Undefined for an undeclared kind. */
  readonly declared: (kind: string) => ReadonlyMap<string, DeclaredAlarmHandler> | undefined
  /** Whether the application declares any alarm. */
  readonly isDeclared: boolean
  readonly handles: ActorHandles
  readonly timers: Timers
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  /** Starts the alarms of the actor that are due at the time. */
  readonly wake: (actorId: string, dueAt: number) => void
}

/** A set alarm that passed its checks. */
export type PreparedAlarm = Omit<NewAlarm, 'hops'>

/** An alarm that another process has set runs with at most this delay, also when that process is killed. */
const pollMs = 1000
const maxRunning = 64
const maxOfActor = 4
/** An alarm may be any date, so a distant one does not show that the clock was set back. */
const latestDate = 8_640_000_000_000_000
const longestKey = 200
/** A process without the handler, such as one of an older release, leaves the alarm to the others for so long. */
const unknownMs = 15_000
/** An alarm that is due so soon belongs to the same chain of changes. */
const soonMs = 1000

export class Alarms {
  readonly #deps: AlarmsDeps

  constructor(deps: AlarmsDeps) {
    this.#deps = deps
  }

  /** Whether the application declares any alarm. */
  get isDeclared(): boolean {
    return this.#deps.isDeclared
  }

  /**
   * Checks an alarm before it is stored.
   *
   * @throws ServiceError `not_found` for an undeclared name; `invalid_input` for data that does not fit; `invalid_value`
   */
  async prepare(
    kind: string,
    name: string,
    { at, data, key = '' }: { readonly at: Date | number; readonly data: unknown; readonly key?: string | undefined },
  ): Promise<PreparedAlarm> {
    const schema = this.#require(kind, name).schema
    const time = at instanceof Date ? at.getTime() : at
    if (typeof time !== 'number' || !Number.isFinite(time) || Math.abs(time) > latestDate)
      throw new ServiceError('invalid_value', `Cannot set the alarm ${quoted(name)}: its time is not a valid date`)
    const id = alarmId(name, key)
    if (schema !== null) await schema.check(data)
    return {
      id,
      at: Math.round(time),
      entryId: randomId(),
      data: data === undefined ? '' : fromPlain(data),
    }
  }

  /** Stores an alarm, in place of the one with the same name and key. */
  async put(tx: Transaction, actorId: string, alarm: PreparedAlarm): Promise<void> {
    const { store, now, wake } = this.#deps
    const time = now()
    const hops = alarm.at < time + soonMs ? (currentContext()?.hops ?? 0) : 0
    await putAlarm(tx, actorId, { ...alarm, hops }, time)
    store.afterCommit(tx, () => wake(actorId, alarm.at))
  }

  set(actorId: string, alarm: PreparedAlarm): Promise<void> {
    return this.#deps.store.changeActor(actorId, (tx) => this.put(tx, actorId, alarm))
  }

  /** Cancels an alarm in the transaction. Returns false when it is not set. */
  remove(tx: Transaction, actorId: string, id: string): Promise<boolean> {
    return deleteAlarm(tx, actorId, id)
  }

  cancel(actorId: string, id: string): Promise<boolean> {
    return this.#deps.store.changeActor(actorId, (tx) => deleteAlarm(tx, actorId, id))
  }

  /** The alarms of the actor, the next one first: all, those of a name, or the one of a name and key. */
  async list(actorId: string, name?: string, key?: string): Promise<Alarm[]> {
    const id = name === undefined || key === undefined ? null : alarmId(name, key)
    const stored = await this.#deps.store.read((q) => findAlarms(q, actorId, id))
    const alarms = stored.map(alarmOf)
    return name === undefined ? alarms : alarms.filter((alarm) => alarm.name === name)
  }

  readonly jobQueue: JobQueue = {
    kind: 'alarm',
    run: (job, signal) => this.#run(job, signal),
    hostOf: ({ actorId }) => actorId,
    most: { running: maxRunning, ofActor: maxOfActor, ofHost: maxOfActor },
    longestMs: latestDate,
    pollMs,
  }

  async #run(job: ClaimedJob, signal: AbortSignal): Promise<RunResult> {
    const { declared, now, random, log, metrics } = this.#deps
    const { name, key } = nameIn(job.id)
    const { actorId, attempts } = job
    const handler = declared(job.actorKind)?.get(name)
    if (handler === undefined) {
      log.warn({ actorId, alarm: name }, 'Cannot run an alarm: this process does not declare its handler')
      return resultOf(job, { dueAt: now() + unknownMs, attempts, reason: 'No process declares the handler' })
    }
    try {
      await this.#handle(job, { name, key }, handler, signal)
      metrics.jobRun('alarm', 'done')
      return { settled: { done: null, dueAt: 0, ...fresh }, entries: [] }
    } catch (error) {
      if (signal.aborted) return resultOf(job, { dueAt: now(), attempts, reason: '' })
      const at = retryAt({ now: now(), attempts, random: random() })
      metrics.jobRun('alarm', at === null ? 'failed' : 'retry')
      const facts = { error, actorId, alarm: name, key, attempt: attempts + 1 }
      if (at === null) log.error(facts, 'The handler of an alarm failed too often; the alarm waits for troupe redrive')
      else log.warn(facts, 'The handler of an alarm failed; it runs again')
      const failingSince = job.failingSince ?? now()
      return resultOf(job, { dueAt: at, attempts: attempts + 1, reason: reasonOf(error), failingSince })
    }
  }

  async #handle(
    { actorId, creator, actorKind, at, entryId, data, hops, attempts }: ClaimedJob,
    { name, key }: AlarmName,
    { schema, handler }: DeclaredAlarmHandler,
    signal: AbortSignal,
  ): Promise<void> {
    const { handles, timers } = this.#deps
    const given = data === '' ? undefined : toPlain(known(data))
    const fitting = schema === null ? given : await schema.check(given)
    await runHandler(timers, { actorId, hops, call: `alarm ${name}`, signal }, async (handlerSignal) =>
      handler({
        actor: handles.of({ id: actorId, creator, kind: actorKind }),
        name,
        key,
        // The schema has checked the data, and the handler takes what the schema gives.
        data: fitting as never,
        at: new Date(at ?? 0),
        id: entryId,
        attempt: attempts + 1,
        signal: handlerSignal,
      }),
    )
  }

  #require(kind: string, name: string): DeclaredAlarmHandler {
    const declared = this.#deps.declared(kind)?.get(name)
    if (declared !== undefined) return declared
    throw new ServiceError('not_found', `Cannot set the alarm ${quoted(name)}: app.alarm does not declare it`)
  }
}

interface AlarmName {
  readonly name: string
  readonly key: string
}

/** @throws ServiceError `invalid_value` */
export function alarmId(name: string, key: string): string {
  if (typeof key !== 'string' || key.length > longestKey || !key.isWellFormed() || key.includes('\0'))
    throw new ServiceError(
      'invalid_value',
      `Cannot use the key of the alarm ${quoted(name)}: it must be a string of at most ${longestKey} characters`,
    )
  return JSON.stringify([name, key])
}

function nameIn(id: string): AlarmName {
  const [name = '', key = ''] = JSON.parse(id) as string[]
  return { name, key }
}

function alarmOf({ id, at, entryId, data, dueAt, state, attempts, reason }: StoredAlarm): Alarm {
  return {
    ...nameIn(id),
    id: entryId,
    at: new Date(at),
    data: data === '' ? undefined : toPlain(known(data)),
    state: state === 'stopped' ? 'failed' : 'waiting',
    attempts,
    reason,
    nextAttemptAt: dueAt === null ? null : new Date(dueAt),
  }
}

const fresh = { state: 'live', attempts: 0, failingSince: null, reason: '' } as const

/** The alarm stays: `dueAt` null gives it up. */
function resultOf(
  { done, failingSince }: ClaimedJob,
  next: {
    readonly dueAt: number | null
    readonly attempts: number
    readonly reason: string
    readonly failingSince?: number
  },
): RunResult {
  const { dueAt, attempts, reason } = next
  const since = next.failingSince ?? failingSince
  const state = dueAt === null ? 'stopped' : 'live'
  return {
    settled: { done, dueAt: dueAt ?? 0, state, attempts, failingSince: since, reason },
    entries: [],
  }
}
