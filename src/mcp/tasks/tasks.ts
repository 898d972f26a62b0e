/**
 * Work that continues after the response to a call (extension `io.modelcontextprotocol/tasks`). A task is stored before
 * the client receives its id, and every process can read its outcome. When the process of a task crashes, another
 * process resumes the task if its tool is idempotent (`idempotentHint`), and otherwise marks it as failed.
 */
import type { Timers } from '../../timers.ts'
import { quoted, ServiceError } from '../../errors.ts'
import type { Permission } from '../../permission/permission.ts'
import { randomToken } from '../../secret/random.ts'
import type { McpAccess } from '../call/call.ts'
import { answerProblem } from '../call/client-answer.ts'
import { McpFailure } from '../protocol/failure.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import { RunningTask } from './running-task.ts'
import { TaskRecords, type TaskRecordsDeps, viewOf } from './task-records.ts'
import type { TaskOwner, TaskRow } from './task-store.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

export interface TasksDeps extends TaskRecordsDeps {
  readonly timers: Timers
  readonly permission: Pick<Permission, 'may'>
}

/** Resumes the work of a process that crashed. False for work that must not be repeated. */
export type ResumeTask = (tool: string, args: MessageParams, task: RunningTask) => boolean

/** The most unexpired tasks of one client. */
const maxTasks = 100

export class McpTasks {
  readonly #records: TaskRecords
  readonly #timers: Timers
  readonly #permission: Pick<Permission, 'may'>
  /** The tasks that this process runs. */
  readonly #running = new Map<string, RunningTask>()

  constructor({ timers, permission, ...deps }: TasksDeps) {
    this.#records = new TaskRecords(deps)
    this.#timers = timers
    this.#permission = permission
  }

  /** @throws ServiceError `too_many_requests` for a client with too many tasks. */
  async begin(access: McpAccess, tool: string, args: MessageParams): Promise<RunningTask> {
    const task = await this.#records.insert(ownerOf(access), `t_${randomToken(24)}`, tool, args, maxTasks)
    if (task === null) {
      throw new ServiceError('too_many_requests', 'Cannot begin another task: this client has too many tasks', {
        retryAfterSeconds: 60,
      })
    }
    return this.#work(task)
  }

  /**
   * @throws McpFailure `invalid_params` for a task that does not exist, or belongs to another client; `not_permitted` for a
   *   task of a tool that the client may no longer use.
   */
  async get(access: McpAccess, taskId: unknown, resumeTask: ResumeTask): Promise<MessageParams> {
    const task = await this.#require(access, taskId)
    if (!this.#records.isDead(task)) return viewOf(task, this.#records.outcomeOf(task))
    if (await this.#records.claim(task)) await this.#takeOver(task, resumeTask)
    const fresh = await this.#require(access, task.taskId)
    return viewOf(fresh, this.#records.outcomeOf(fresh))
  }

  /** The given ids that belong to tasks of the client. */
  own(access: McpAccess, taskIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#records.findIds(ownerOf(access), taskIds)
  }

  /**
   * Stores answers to the questions of a task. Answers to other questions, and second answers, are ignored.
   *
   * @throws McpFailure `invalid_params` for an answer that does not fit its question. No answer is stored then.
   */
  async update(access: McpAccess, taskId: unknown, given: unknown): Promise<void> {
    const task = await this.#require(access, taskId)
    const responses = isRecord(given) ? given : {}
    await this.#records.change(task, (outcome) => {
      const questions = Object.entries(outcome.inputRequests ?? {})
      const answered = Object.fromEntries(
        questions.flatMap(([key, question]) => {
          if (!Object.hasOwn(responses, key)) return []
          const problem = answerProblem(question, responses[key])
          if (problem === null) return [[key, responses[key]] as const]
          throw new McpFailure('invalid_params', `Cannot use the answer to ${quoted(key)}: ${problem}`)
        }),
      )
      const rest = Object.fromEntries(questions.filter(([key]) => !Object.hasOwn(answered, key)))
      return {
        status: Object.keys(rest).length === 0 ? 'working' : 'input_required',
        outcome: { ...outcome, inputRequests: rest, answers: { ...outcome.answers, ...answered } },
      }
    })
    this.#running.get(task.taskId)?.look()
  }

  async cancel(access: McpAccess, taskId: unknown): Promise<void> {
    const task = await this.#find(access, taskId)
    await this.#records.change(task, ({ answers = {} }) => ({ status: 'cancelled', outcome: { answers } }))
    this.#running.get(task.taskId)?.look()
  }

  /** Finds a task of the client, whose tool the client may use now: the owner may have revoked the right meanwhile. */
  async #require(access: McpAccess, taskId: unknown): Promise<TaskRow> {
    const task = await this.#find(access, taskId)
    const operation = { category: 'tools', right: 'write', target: task.tool } as const
    if ((await this.#permission.may(access.actor.id, access.caller, operation)).allowed) return task
    throw new McpFailure('not_permitted', `These credentials may not use the tool ${quoted(task.tool)}`)
  }

  /** Finds a task of the client. A client whose approval was revoked has no tasks. */
  async #find(access: McpAccess, taskId: unknown): Promise<TaskRow> {
    const isApproved = access.caller.relationship !== ''
    const task = isApproved && typeof taskId === 'string' ? await this.#records.find(ownerOf(access), taskId) : null
    if (task === null) throw new McpFailure('invalid_params', 'Unknown task')
    return task
  }

  async #takeOver(task: TaskRow, resumeTask: ResumeTask): Promise<void> {
    const running = this.#work(task)
    if (resumeTask(task.tool, this.#records.argumentsOf(task), running)) return
    await running.finish({ error: { code: -32603, message: 'The work was interrupted and cannot be repeated' } })
  }

  #work(task: TaskRow): RunningTask {
    const running = new RunningTask(task, this.#records, this.#timers, () => this.#running.delete(task.taskId))
    this.#running.set(task.taskId, running)
    return running
  }
}

function ownerOf({ actor, caller }: McpAccess): TaskOwner {
  return { actorId: actor.id, peerId: caller.peerId, clientId: caller.clientId }
}
