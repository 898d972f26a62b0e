/**
 * The work of the writer in one turn of the event loop. SQLite answers without a pause, so without a limit all statements of a
 * transaction, and all transactions that share a COMMIT, would run in one turn.
 */
import { setImmediate } from 'node:timers/promises'
import type { Param } from '../store.ts'

/** Work of one turn, in statements. */
const most = 64
/** A statement with long parameters, or with many rows, counts as several. */
const charactersOfOne = 16_384
const rowsOfOne = 16

/** A job that took more turns than this is long. */
const fewPauses = 8
/** SQLite copies its log into the file when the log has 1000 pages of 4 KiB. A row is taken for the tenth of a page. */
const charactersOfLog = 4_096_000
const charactersOfRow = 400

export class WriterTurn {
  #work = 0
  #written = 0
  #pausesOfJob = 0

  /** Begins a transaction, in a turn of its own. */
  begin(): void {
    this.#work = 0
    this.#written = 0
  }

  /** Begins the next job of the transaction. */
  beginJob(): void {
    this.#pausesOfJob = 0
  }

  /** Whether the transaction fills the log, so that its COMMIT would copy much of the log into the file. */
  get fillsLog(): boolean {
    return this.#written > charactersOfLog
  }

  get isLongJob(): boolean {
    return this.#pausesOfJob > fewPauses
  }

  /** Resolves with the result of a statement: in a later turn, when this one has done its work. */
  settle<T>(result: T, rows: number, params: readonly Param[]): Promise<T> {
    let characters = 0
    for (const param of params) if (typeof param === 'string') characters += param.length
    this.#written += characters + rows * charactersOfRow
    this.#work += 1 + characters / charactersOfOne + rows / rowsOfOne
    if (this.#work < most) return Promise.resolve(result)
    this.#work = 0
    this.#pausesOfJob += 1
    return setImmediate(result)
  }
}
