/** Which files of `src` each test file executes, beyond what nearly all test files execute. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The environment variable with the folder of the records. */
export const executionsVariable = 'TROUPE_TEST_EXECUTIONS'

export interface ExecutionRecord {
  /** The file with which the process started. */
  readonly file: string
  /** Functions by file and line, such as `src/list/list-store.ts:140`. */
  readonly functions: readonly string[]
}

/** By the name of a test file: the files of `src` that it executes. */
export type Executions = Readonly<Record<string, readonly string[]>>

export interface ExecutionRecords {
  /**
   * @param nameOf Name of a test file.
   * @param references Names of test files that decide which functions belong to every service. Default: all that ran.
   */
  read(nameOf: (file: string) => string, references?: readonly string[]): Executions
  remove(): void
}

/** A function that more than this part of the test files executes belongs to every service, and says nothing of a test. */
const commonPart = 0.4

/** Makes the test files that start from now record what they execute. */
export function recordExecutions(): ExecutionRecords {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-executions-'))
  process.env[executionsVariable] = folder
  return {
    read(nameOf, references) {
      const records = readdirSync(folder).map(
        (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as ExecutionRecord,
      )
      return executionsOf(
        records.map(({ file, functions }) => ({ file: nameOf(file), functions })),
        references,
      )
    },
    remove() {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the executions of the files that are no reference, or of all files when all are references. */
export function executionsOf(records: readonly ExecutionRecord[], references?: readonly string[]): Executions {
  const isReference = (file: string): boolean => references?.includes(file) ?? true
  const compared = records.filter(({ file }) => isReference(file))
  const counts = new Map<string, number>()
  for (const { functions } of compared) for (const one of functions) counts.set(one, (counts.get(one) ?? 0) + 1)
  const isCommon = (one: string): boolean => (counts.get(one) ?? 0) > commonPart * compared.length
  const measured = references === undefined ? records : records.filter(({ file }) => !isReference(file))
  const byFile = measured.map(({ file, functions }) => {
    const sources = functions.filter((one) => !isCommon(one)).map((one) => one.slice(0, one.lastIndexOf(':')))
    return [file, [...new Set(sources)].toSorted()] as const
  })
  return Object.fromEntries(byFile.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
