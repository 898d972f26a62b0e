/**
 * Work that goes on behind the answer to a call (extension `io.modelcontextprotocol/tasks`). A task is in the store before
 * the client hears of it, and what became of it is there for every process. One whose process died is taken up again when
 * its tool may be repeated (`idempotentHint`), and else reported as failed.
 */
import type { ClientQuestion } from '../app/mcp-declarations.ts'
import type { Cancel, Timers } from '../delivery/timers.ts'
import { ServiceError } from '../errors.ts'
import type { Live } from '../live/live.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomToken } from '../secret/random.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import { bindingOf, taskCall, taskOutcome } from '../secret/sealed-columns.ts'
import type { Store } from '../store/store.ts'
import type { McpAccess } from './call.ts'
import { McpFailure } from './failure.ts'
import { isRecord, type Params } from './message.ts'
import { requestOf } from './round-trip.ts'
import {
  claimTask,
  countTasks,
  deleteExpiredTasks,
  findTask,
  holdTask,
  insertTask,
  setTask,
  type TaskOwner,
  type TaskRow,
  type TaskStatus,
} from './task-store.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

export interface TasksParts {
  readonly store: Store
  readonly live: Live
  readonly keyRing: KeyRing
  readonly timers: Timers
  readonly now: () => number
}

type Open = Readonly<Record<string, { readonly method: string; readonly params: object }>>

interface Outcome {
  /** Questions without an answer yet. */
  readonly inputRequests?: Open
  readonly answers?: Params
  readonly result?: object
  readonly error?: { readonly code: number; readonly message: string }
}

/** The task as the handler that works on it sees it. */
export interface RunningTask {
  readonly signal: AbortSignal
  /** The task as it began, for the answer to the call. */
  readonly view: Params
  ask(questions: Readonly<Record<string, ClientQuestion>>): Promise<Params>
  finish(outcome: Pick<Outcome, 'result' | 'error'>): Promise<void>
}

const lifetimeMs = 3_600_000
const pollIntervalMs = 1000
const holdMs = 30_000
const beatMs = 10_000
const mostTasks = 100

export class McpTasks {
  readonly #parts: TasksParts
  /** Tasks that this process works on: wakes whoever waits for answers. */
  readonly #running = new Map<string, () => void>()

  constructor(parts: TasksParts) {
    this.#parts = parts
  }

  /** @throws ServiceError `too_many_requests` for a client with too many of them. */
  async begin(access: McpAccess, tool: string, args: Params): Promise<RunningTask> {
    const { store, keyRing, now } = this.#parts
    const owner = ownerOf(access)
    const taskId = `t_${randomToken(24)}`
    const at = now()
    const task: TaskRow = {
      ...owner,
      taskId,
      tool,
      call: seal(keyRing, JSON.stringify(args), bindingOf(taskCall, owner.actorId, taskId)),
      status: 'working',
      outcome: this.#sealed({ actorId: owner.actorId, taskId }, {}),
      createdAt: at,
      updatedAt: at,
      expiresAt: at + lifetimeMs,
      heldUntil: at + holdMs,
    }
    await store.write(async (tx) => {
      await deleteExpiredTasks(tx, at)
      if ((await countTasks(tx, owner)) >= mostTasks) {
        throw new ServiceError('too_many_requests', 'Cannot begin another task: too many are kept for this client', {
          retryAfterSeconds: 60,
        })
      }
      await insertTask(tx, task)
    })
    return this.#work(task)
  }

  /** @throws McpFailure `invalid_params` for a task that is not there, or not this client's. */
  async get(
    access: McpAccess,
    taskId: unknown,
    takeUp: (tool: string, args: Params, task: RunningTask) => boolean,
  ): Promise<Params> {
    const task = await this.#require(access, taskId)
    if (!isDead(task, this.#parts.now())) return viewOf(task, this.#opened(task))
    return this.#takeOver(access, task, takeUp)
  }

  /** Answers to the questions of a task; those that nobody asked, or that were given before, are ignored. */
  async update(access: McpAccess, taskId: unknown, given: unknown): Promise<void> {
    const task = await this.#require(access, taskId)
    const responses = isRecord(given) ? given : {}
    await this.#change(task, (outcome) => {
      const open_ = Object.entries(outcome.inputRequests ?? {})
      const answered = Object.fromEntries(
        open_.flatMap(([key]) => (isRecord(responses[key]) ? [[key, responses[key]] as const] : [])),
      )
      const rest = Object.fromEntries(open_.filter(([key]) => !(key in answered)))
      return {
        status: Object.keys(rest).length === 0 ? 'working' : 'input_required',
        outcome: { ...outcome, inputRequests: rest, answers: { ...outcome.answers, ...answered } },
      }
    })
    this.#running.get(task.taskId)?.()
  }

  async cancel(access: McpAccess, taskId: unknown): Promise<void> {
    const task = await this.#require(access, taskId)
    await this.#change(task, (outcome) => ({ status: 'cancelled', outcome: { answers: outcome.answers ?? {} } }))
    this.#running.get(task.taskId)?.()
  }

  async #require(access: McpAccess, taskId: unknown): Promise<TaskRow> {
    const { store, now } = this.#parts
    const owner = ownerOf(access)
    const task = typeof taskId === 'string' ? await store.read((q) => findTask(q, owner, taskId)) : null
    if (task === null || task.expiresAt < now()) throw new McpFailure('invalid_params', 'There is no such task')
    return task
  }

  async #takeOver(
    access: McpAccess,
    task: TaskRow,
    takeUp: (tool: string, args: Params, task: RunningTask) => boolean,
  ): Promise<Params> {
    const { store, keyRing, now } = this.#parts
    const claimed = await store.write((tx) => claimTask(tx, task, now(), now() + holdMs))
    if (claimed) {
      const args: unknown = JSON.parse(open(keyRing, task.call, bindingOf(taskCall, task.actorId, task.taskId)))
      const running = this.#work(task)
      if (!takeUp(task.tool, isRecord(args) ? args : {}, running)) {
        await running.finish({ error: { code: -32603, message: 'The work was interrupted and cannot be repeated' } })
      }
    }
    const fresh = await this.#require(access, task.taskId)
    return viewOf(fresh, this.#opened(fresh))
  }

  #work(task: TaskRow): RunningTask {
    const { timers, store, now } = this.#parts
    const controller = new AbortController()
    let cancelBeat: Cancel = () => {}
    let wake: (() => void) | null = null
    const look = async (): Promise<TaskRow | null> => {
      const fresh = await store.read((q) => findTask(q, task, task.taskId))
      if (fresh === null || fresh.status === 'cancelled') controller.abort()
      return fresh
    }
    const beat = async (): Promise<void> => {
      const held = await store.write((tx) => holdTask(tx, task, now() + holdMs)).catch(() => true)
      if (held) cancelBeat = timers.setTimer(beatMs, () => void beat())
      else controller.abort()
    }
    cancelBeat = timers.setTimer(beatMs, () => void beat())
    this.#running.set(task.taskId, () => {
      wake?.()
      void look().catch(() => {})
    })
    const finish = async (outcome: Pick<Outcome, 'result' | 'error'>): Promise<void> => {
      cancelBeat()
      this.#running.delete(task.taskId)
      await this.#change(task, ({ answers }) => ({
        status: outcome.error === undefined ? 'completed' : 'failed',
        outcome: { ...(answers === undefined ? {} : { answers }), ...outcome },
      }))
    }
    const ask = async (questions: Readonly<Record<string, ClientQuestion>>): Promise<Params> => {
      await this.#change(task, (outcome) => {
        const missing = Object.entries(questions).filter(([key]) => outcome.answers?.[key] === undefined)
        const asked = Object.fromEntries(missing.map(([key, question]) => [key, requestOf(question)]))
        const all = { ...outcome.inputRequests, ...asked }
        return {
          status: Object.keys(all).length === 0 ? 'working' : 'input_required',
          outcome: { ...outcome, inputRequests: all },
        }
      })
      for (;;) {
        const fresh = await look()
        if (controller.signal.aborted || fresh === null) throw new Error('The task was cancelled')
        const answers = this.#opened(fresh).answers ?? {}
        const given = Object.keys(questions).map((key) => [key, answers[key]] as const)
        if (given.every(([, answer]) => answer !== undefined)) return Object.fromEntries(given)
        await new Promise<void>((resolve) => {
          const cancelWait = timers.setTimer(pollIntervalMs, resolve)
          wake = () => {
            cancelWait()
            resolve()
          }
        })
        wake = null
      }
    }
    return { signal: controller.signal, view: viewOf(task, {}), ask, finish }
  }

  /** In the actor's turn, so that two answers at once are both kept. What is final stays. */
  async #change(
    task: Pick<TaskRow, 'actorId' | 'taskId' | 'peerId' | 'clientId'>,
    work: (outcome: Outcome) => { status: TaskStatus; outcome: Outcome },
  ): Promise<void> {
    const { store, live, now } = this.#parts
    await store.writeActor(task.actorId, async (tx, actor) => {
      const fresh = await findTask(tx, task, task.taskId)
      if (fresh === null) return
      const next = work(this.#opened(fresh))
      const changed = await setTask(tx, task, next.status, this.#sealed(task, next.outcome), now())
      if (changed) await live.record(tx, actor, 'tasks', [task.taskId])
    })
  }

  #sealed({ actorId, taskId }: Pick<TaskRow, 'actorId' | 'taskId'>, outcome: Outcome): Sealed {
    return seal(this.#parts.keyRing, JSON.stringify(outcome), bindingOf(taskOutcome, actorId, taskId))
  }

  #opened({ actorId, taskId, outcome }: TaskRow): Outcome {
    return JSON.parse(open(this.#parts.keyRing, outcome, bindingOf(taskOutcome, actorId, taskId))) as Outcome
  }
}

function isDead({ status, heldUntil }: TaskRow, now: number): boolean {
  return (status === 'working' || status === 'input_required') && heldUntil < now
}

function ownerOf({ actor, caller }: McpAccess): TaskOwner {
  return { actorId: actor.id, peerId: caller.peerId, clientId: caller.clientId }
}

function viewOf(task: TaskRow, { inputRequests, result, error }: Outcome): Params {
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
