/** The statements that the tests of a run executed, as the processes of the run have recorded them. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutedStatement } from '../../src/open-store.ts'

/**
 * The environment variable with the folder of the records. Programs that start without settings of the service keep it. The
 * recorder repeats the name, because a process loads it besides the files of the test, and must not share a module with them.
 */
const folderVariable = 'STATEMENT_RECORDS'

export interface StatementRecord {
  /** The file with which the process started. */
  readonly file: string
  /** The full name of the test, or `on SQLite` and `on PostgreSQL` only. Empty for programs and outside such tests. */
  readonly test: string
  readonly dialect: ExecutedStatement['dialect']
  /** `ExecutedStatement.caller` */
  readonly caller: string
  /** The text by `shapeOf`. */
  readonly shape: string
}

export interface StatementRecords {
  read(): StatementRecord[]
  remove(): void
}

/** Makes the processes that start from now record their statements. @param tests whether a record names the test, or its store. */
export function recordStatements(tests: 'named' | 'by-store'): StatementRecords {
  const parent = mkdtempSync(join(tmpdir(), 'troupe-statements-'))
  const folder = join(parent, tests)
  mkdirSync(folder)
  const before = process.env[folderVariable]
  process.env[folderVariable] = folder
  return {
    read: () =>
      readdirSync(folder).flatMap((name) =>
        readFileSync(join(folder, name), 'utf8')
          .split('\n')
          // A killed process may have written half a line.
          .slice(0, -1)
          .map((line) => JSON.parse(line) as StatementRecord),
      ),
    remove() {
      if (before === undefined) delete process.env[folderVariable]
      else process.env[folderVariable] = before
      rmSync(parent, { recursive: true, force: true })
    },
  }
}
