/** The log of a test: nothing is printed, and the test can read every line. */
import { createLog, type Log, type LogLevel } from '../observe/log.ts'

/** One event of the log. @public */
export interface LogEntry {
  readonly level: LogLevel
  readonly msg: string
  /** The fields of the event, such as `error`, `actor` or `context`. */
  readonly [field: string]: unknown
}

/** The log of the application in a test. @public */
export class TestLog {
  readonly #entries: LogEntry[] = []
  /** @internal */
  readonly log: Log

  constructor(level: LogLevel) {
    // pino writes one JSON object for each event.
    this.log = createLog(level, { write: (line: string) => void this.#entries.push(JSON.parse(line) as LogEntry) })
  }

  /** All events so far, in their order. */
  get entries(): readonly LogEntry[] {
    return this.#entries
  }

  /** The events of the levels `error` and `fatal`. */
  get errors(): readonly LogEntry[] {
    return this.#entries.filter(({ level }) => level === 'error' || level === 'fatal')
  }

  /** The log as text, one line for each event, for the message of a failing test. */
  toString(): string {
    return this.#entries.map(lineOf).join('\n')
  }
}

interface LoggedError {
  readonly stack?: string
  readonly message?: string
  readonly cause?: LoggedError
}

/** Returns an event as text, with the first cause of its error. */
export function lineOf({ level, msg, error }: LogEntry): string {
  let first = error as LoggedError | undefined
  while (first?.cause !== undefined) first = first.cause
  const reason = first?.stack ?? first?.message
  return `${level} ${msg}${reason === undefined ? '' : `\n${reason}`}`
}
