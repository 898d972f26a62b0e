/** Tasks in the store. Outcomes are sealed, and changed under the lock of the actor. */
import type { Live } from '../../live/live.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { open, seal, type Sealed } from '../../secret/sealed.ts'
import { bindingOf, taskCall, taskOutcome } from '../../secret/sealed-columns.ts'
import type { Store } from '../../store/store.ts'
import type { Timers } from '../../timers.ts'
import { storePatiently } from '../../unsettled.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import {
  claimTask,
  countTasks,
  deleteExpiredTasks,
  findTask,
  findTaskIds,
  holdTask,
  insertTask,
  setTask,
  type TaskOwner,
  type TaskRow,
  type TaskStatus,
} from './task-store.ts'

export interface TaskRecordsDeps {
  readonly store: Store
  readonly live: Live
  readonly keyRing: KeyRing
  readonly now: () => number
}

export interface Outcome {
  /** Questions without an answer yet. */
  readonly inputRequests?: Readonly<Record<string, { readonly method: string; readonly params: object }>>
  readonly answers?: MessageParams | undefined
  readonly result?: object
  readonly error?: { readonly code: number; readonly message: string }
}

type Place = Pick<TaskRow, 'actorId' | 'taskId'>

const lifetimeMs = 3_600_000
/** A task without a heartbeat in this time counts as dead, in milliseconds. */
const holdMs = 30_000
export const pollIntervalMs = 1000

export class TaskRecords {
  readonly #deps: TaskRecordsDeps

  constructor(deps: TaskRecordsDeps) {
    this.#deps = deps
  }

  /** Stores a new task. Null when the client already has `most` tasks. */
  async insert(
    owner: TaskOwner,
    taskId: string,
    tool: string,
    args: MessageParams,
    most: number,
  ): Promise<TaskRow | null> {
    const { store, keyRing, now } = this.#deps
    const at = now()
    const place = { actorId: owner.actorId, taskId }
    const task: TaskRow = {
      ...owner,
      taskId,
      tool,
      call: seal(keyRing, JSON.stringify(args), bindingOf(taskCall, owner.actorId, taskId)),
      status: 'working',
      outcome: this.#sealed(place, {}),
      createdAt: at,
      updatedAt: at,
      expiresAt: at + lifetimeMs,
      leasedUntil: at + holdMs,
    }
    return store.write(async (tx) => {
      await deleteExpiredTasks(tx, at, tx.isSharded ? owner.actorId : null)
      if ((await countTasks(tx, owner)) >= most) return null
      await insertTask(tx, task)
      return task
    })
  }

  /** The task with this id. Null when it expired, does not exist, or belongs to another client. */
  async find(owner: TaskOwner, taskId: string): Promise<TaskRow | null> {
    const { store, now } = this.#deps
    const task = await store.read((q) => findTask(q, owner, taskId))
    return task === null || task.expiresAt < now() ? null : task
  }

  /** The ids for which `find` returns a task. */
  async findIds(owner: TaskOwner, taskIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { store, now } = this.#deps
    return taskIds.length === 0 ? new Set() : store.read((q) => findTaskIds(q, owner, taskIds, now()))
  }

  /** Extends the lease of the task. False when the task has ended. */
  hold(task: TaskRow): Promise<boolean> {
    const { store, now } = this.#deps
    return store.write((tx) => holdTask(tx, task, now() + holdMs))
  }

  /** Claims a dead task. True for exactly one process. */
  claim(task: TaskRow): Promise<boolean> {
    const { store, now } = this.#deps
    return store.write((tx) => claimTask(tx, task, now(), now() + holdMs))
  }

  /** True when the task has not ended and no process runs it. */
  isDead({ status, leasedUntil }: TaskRow): boolean {
    return (status === 'working' || status === 'input_required') && leasedUntil < this.#deps.now()
  }

  /** Changes a task under the lock of the actor, so that concurrent answers are all kept. A final status never changes. */
  async change(
    task: TaskOwner & Place,
    work: (outcome: Outcome) => { readonly status: TaskStatus; readonly outcome: Outcome },
  ): Promise<void> {
    const { store, live, now } = this.#deps
    await store.writeActor(task.actorId, async (tx, actor) => {
      const fresh = await findTask(tx, task, task.taskId)
      if (fresh === null) return
      const next = work(this.outcomeOf(fresh))
      const changed = await setTask(tx, task, next.status, this.#sealed(task, next.outcome), now())
      if (changed) await live.record(tx, actor, 'tasks', [task.taskId])
    })
  }

  /** Like `change`, and repeats it while the store is unavailable, because nothing else has the outcome. */
  end(
    timers: Timers,
    task: TaskOwner & Place,
    work: (outcome: Outcome) => { readonly status: TaskStatus; readonly outcome: Outcome },
  ): Promise<void> {
    const { now } = this.#deps
    return storePatiently({ timers, now }, now() + holdMs, () => this.change(task, work))
  }

  argumentsOf({ actorId, taskId, call }: TaskRow): MessageParams {
    const args: unknown = JSON.parse(open(this.#deps.keyRing, call, bindingOf(taskCall, actorId, taskId)))
    return isRecord(args) ? args : {}
  }

  outcomeOf({ actorId, taskId, outcome }: TaskRow): Outcome {
    return JSON.parse(open(this.#deps.keyRing, outcome, bindingOf(taskOutcome, actorId, taskId))) as Outcome
  }

  #sealed({ actorId, taskId }: Place, outcome: Outcome): Sealed {
    return seal(this.#deps.keyRing, JSON.stringify(outcome), bindingOf(taskOutcome, actorId, taskId))
  }
}

/** The task as clients see it. */
export function viewOf(task: TaskRow, { inputRequests, result, error }: Outcome): MessageParams {
  return {
    taskId: task.taskId,
    status: task.status,
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.updatedAt).toISOString(),
    ttlMs: task.expiresAt - task.createdAt,
    pollIntervalMs,
    ...(task.status === 'completed' ? { result } : {}),
    ...(task.status === 'failed' ? { error } : {}),
    ...(task.status === 'input_required' ? { inputRequests } : {}),
  }
}
