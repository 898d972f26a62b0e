/** Runs test files in parallel and prints their results. */
import { coverageLines, coverageOf, unknownRows } from './coverage.ts'
import { runTestFile, type FileResult } from './test-file.ts'

export interface RunOptions {
  readonly concurrency: number
  /** A file is killed after this time without the beginning or end of a test. */
  readonly limitSeconds: number
  readonly print: (line: string) => void
  /** False for a run of selected files, in which most areas have no tests. */
  readonly everyArea: boolean
  /** Returns the name of a file in the report. */
  readonly nameOf: (file: string) => string
  /** Whether a file runs after the others, without another one at the same time. */
  readonly isAlone?: (file: string) => boolean
  readonly signal?: AbortSignal
}

export interface RunTotals {
  readonly passed: number
  readonly failed: number
}

/** Runs the files, prints the results, and ends with the line `N passed, N failed`. A run without a test fails. */
export async function runTestFiles(files: readonly string[], options: RunOptions): Promise<RunTotals> {
  const { print, nameOf } = options
  const results: FileResult[] = []
  const isAlone = options.isAlone ?? (() => false)
  let waiting = files.filter((file) => !isAlone(file))
  const lane = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runTestFile(file, options.limitSeconds, options.signal)
      results.push(result)
      const mark = result.failed.length === 0 ? '✔' : '✖'
      const counts = `${result.passed.length} passed, ${result.failed.length} failed`
      print(`${mark} ${nameOf(file)}  ${counts} (${result.seconds.toFixed(1)} s)`)
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, lane))
  waiting = files.filter(isAlone)
  await lane()

  for (const result of results) if (result.failed.length > 0) printFailures(result, options)
  const outcomes = results.flatMap((result) => [...result.passed, ...result.failed])
  const slips = unknownRows(outcomes)
  for (const row of slips) print(`✖ ${row} is in a title, and the catalogue has no such row`)
  print('')
  for (const line of coverageLines(coverageOf(outcomes), options.everyArea)) print(line)
  if (outcomes.length === 0) print('✖ No test ran.')

  const passed = outcomes.filter((outcome) => outcome.passed).length
  const failed = outcomes.length - passed + slips.length + (outcomes.length === 0 ? 1 : 0)
  print('')
  print(`${passed} passed, ${failed} failed`)
  return { passed, failed }
}

function printFailures(result: FileResult, { print, nameOf }: RunOptions): void {
  print('')
  print(nameOf(result.file))
  for (const { path, why } of result.failed) {
    print(`  ✖ ${path.join(' › ')}`)
    print(indent(why))
  }
  if (result.output.trim() !== '') {
    print('  What the file wrote:')
    print(indent(result.output.trimEnd()))
  }
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '      ')
}
