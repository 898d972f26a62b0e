/** A task in the process that runs it. A heartbeat extends its lease, and the store passes questions to its client. */
import { own } from '../../json/json.ts'
import type { ClientQuestion } from '../../app/mcp-declarations.ts'
import type { Cancel, Timers } from '../../timers.ts'
import type { MessageParams } from '../protocol/message.ts'
import { requestOf } from '../call/client-answer.ts'
import { type Outcome, pollIntervalMs, type TaskRecords, viewOf } from './task-records.ts'
import type { TaskRow } from './task-store.ts'

const beatMs = 10_000

export class RunningTask {
  readonly #task: TaskRow
  readonly #records: TaskRecords
  readonly #timers: Timers
  readonly #onEnd: () => void
  readonly #controller = new AbortController()
  #cancelBeat: Cancel = () => {}
  #wake: (() => void) | null = null

  constructor(task: TaskRow, records: TaskRecords, timers: Timers, onEnd: () => void) {
    this.#task = task
    this.#records = records
    this.#timers = timers
    this.#onEnd = onEnd
    this.#beatLater()
  }

  /** Aborted when the client cancels the task, or the task expires. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The task in its initial state, for the response to the call. */
  get view(): MessageParams {
    return viewOf(this.#task, {})
  }

  /** Checks for an answer or a cancellation now. */
  look(): void {
    this.#wake?.()
    void this.#fresh().catch(() => {})
  }

  /** Asks the client, and returns the answers by the keys of the questions. @throws Error when the task was cancelled. */
  async ask(questions: Readonly<Record<string, ClientQuestion>>): Promise<MessageParams> {
    await this.#put(questions)
    for (;;) {
      const fresh = await this.#fresh()
      if (fresh === null || this.signal.aborted) throw new Error('The task was cancelled')
      const answers = this.#records.outcomeOf(fresh).answers ?? {}
      const given = Object.keys(questions).map((key) => [key, own(answers, key)] as const)
      if (given.every(([, answer]) => answer !== undefined)) return Object.fromEntries(given)
      await this.#somethingNew()
    }
  }

  async finish(outcome: Pick<Outcome, 'result' | 'error'>): Promise<void> {
    this.#onEnd()
    try {
      // Meanwhile, the task must not count as dead.
      await this.#records.end(this.#timers, this.#task, ({ answers }) => ({
        status: outcome.error === undefined ? 'completed' : 'failed',
        outcome: { answers, ...outcome },
      }))
    } finally {
      this.#cancelBeat()
    }
  }

  #put(questions: Readonly<Record<string, ClientQuestion>>): Promise<void> {
    return this.#records.change(this.#task, (outcome) => {
      const missing = Object.entries(questions).filter(([key]) => outcome.answers?.[key] === undefined)
      const asked = Object.fromEntries(missing.map(([key, question]) => [key, requestOf(question)]))
      const inputRequests = { ...outcome.inputRequests, ...asked }
      return {
        status: Object.keys(inputRequests).length === 0 ? 'working' : 'input_required',
        outcome: { ...outcome, inputRequests },
      }
    })
  }

  async #fresh(): Promise<TaskRow | null> {
    const fresh = await this.#records.find(this.#task, this.#task.taskId)
    if (fresh === null || fresh.status === 'cancelled') this.#controller.abort()
    return fresh
  }

  /** Waits for the next check. Another process may receive the answer, so this process polls the store. */
  async #somethingNew(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancelWait = this.#timers.setTimer(pollIntervalMs, resolve)
      this.#wake = () => {
        cancelWait()
        resolve()
      }
    })
    this.#wake = null
  }

  #beatLater(): void {
    this.#cancelBeat = this.#timers.setTimer(beatMs, () => void this.#beat())
  }

  async #beat(): Promise<void> {
    // A short failure of the store must not abort the task.
    const isHeld = await this.#records.hold(this.#task).catch(() => true)
    if (isHeld) this.#beatLater()
    else this.#controller.abort()
  }
}
