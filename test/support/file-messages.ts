/** Messages between a process with several test files (shared-process.ts) and its parent (shared-files.ts). */
import type { TestRecord } from './event-reporter.ts'

export interface TestFile {
  readonly file: string
  /** Its name in the report. No other file of the run has it. */
  readonly name: string
}

/** An order of the parent: to run a file, or to end the process. */
export type FileOrder = TestFile | 'end'

export type FileMessage =
  | TestRecord
  /** The file has ended, and everything that it opened is closed. */
  | {
      readonly kind: 'left'
      readonly faults: readonly string[]
      readonly processorSeconds: number
      readonly bytes: number
    }

/** The process writes this to both streams at the end of each file. */
export const outputEnd = '\0the file has ended\0'
