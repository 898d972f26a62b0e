/** Runs test files in parallel and prints their results. */
import { coverageLines, coverageOf, unknownRows } from './coverage.ts'
import { processorSeconds } from './processor-time.ts'
import { SharedFiles } from './shared-files.ts'
import { type FileResult, runTestFile } from './test-file.ts'

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
  /** Returns the name of the kind of processes that a file shares, or null for a process of its own. Default: null. */
  readonly processOf?: (file: string) => string | null
  /** The tests of a file whose full name matches do not run. */
  readonly skipOf?: (file: string) => RegExp | undefined
  /** The processor seconds that a file may take alone on a fast machine, with the processes that it starts. Default: 30. */
  readonly processorLimit?: number
  /** Runs when all files have run, before the results are printed. Each returned sentence is a failure. */
  readonly finish?: () => Promise<readonly string[]>
  readonly signal?: AbortSignal
}

export interface RunTotals {
  readonly passed: number
  readonly failed: number
  readonly results: readonly FileResult[]
}

/**
 * A file may take one of so many parts of the processor time of the run. That is 30 s where a complete run takes 35 minutes, and
 * more on a machine on which everything takes longer.
 */
const partsOfRun = 70

/** Number of files in the list of those that take the most processor time. */
const slowestShown = 10

/** Runs the files, prints the results, and ends with the line `N passed, N failed`. A run without a test fails. */
export async function runTestFiles(files: readonly string[], options: RunOptions): Promise<RunTotals> {
  const { print, nameOf, limitSeconds, signal } = options
  const results: FileResult[] = []
  const isAlone = options.isAlone ?? (() => false)
  let waiting = files.filter((file) => !isAlone(file))
  const shared = new SharedFiles(waiting, options)
  const lane = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await (shared.run(file) ??
        runTestFile(file, { limitSeconds, signal, skip: options.skipOf?.(file) }))
      results.push(result)
      const mark = result.failed.length === 0 ? '✔' : '✖'
      const counts = `${result.passed.length} passed, ${result.failed.length} failed`
      const times = `${result.seconds.toFixed(1)} s, ${result.processorSeconds.toFixed(1)} s of CPU`
      print(`${mark} ${nameOf(file)}  ${counts} (${times})`)
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, lane))
  const leftFaults = await shared.end()
  waiting = files.filter(isAlone)
  await lane()
  const limit = Math.max(options.processorLimit ?? 30, Math.round(processorSeconds() / partsOfRun))
  for (const [index, { file, processorSeconds: taken }] of results.entries()) {
    if (taken <= limit || signal?.aborted === true) continue
    // Processes that share a processor take more of its time, so a file is judged by its time alone.
    const alone = await runTestFile(file, { limitSeconds, signal, skip: options.skipOf?.(file) })
    print(
      `${nameOf(file)}  ${alone.processorSeconds.toFixed(1)} s of CPU alone, ${taken.toFixed(1)} s beside other files`,
    )
    results[index] = alone
  }

  for (const result of results) {
    if (result.failed.length === 0) continue
    printFailures(result, options)
    await printWhetherAlone(result, options)
  }
  const outcomes = results.flatMap((result) => [...result.passed, ...result.failed])
  const remarks = [
    ...unknownRows(outcomes).map((row) => `${row} is in a title, and the catalogue has no such row`),
    ...(outcomes.length === 0 ? ['No test ran.'] : []),
    ...leftFaults,
    ...overLimit(results, options.nameOf, limit),
    ...((await options.finish?.()) ?? []),
  ]
  for (const remark of remarks) print(`✖ ${remark}`)
  print('')
  for (const line of coverageLines(coverageOf(outcomes), options.everyArea)) print(line)
  printSlowest(results, options)
  print('')
  print(`${minutesOf(performance.now() / 1000)} of time, ${minutesOf(processorSeconds())} of processor time.`)
  print(countsOf(outcomes.map(({ place }) => place)))

  const passed = outcomes.filter((outcome) => outcome.passed).length
  const failed = outcomes.length - passed + remarks.length
  print('')
  print(`${passed} passed, ${failed} failed`)
  return { passed, failed, results }
}

/** Returns a sentence for each file that took more processor time than `limit`, in seconds. */
export function overLimit(
  results: readonly Pick<FileResult, 'file' | 'processorSeconds'>[],
  nameOf: (file: string) => string,
  limit: number,
): string[] {
  return results
    .filter(({ processorSeconds }) => processorSeconds > limit)
    .map(({ file, processorSeconds }) => {
      const taken = processorSeconds.toFixed(1)
      return `${nameOf(file)} took ${taken} s of processor time, more than ${limit} s: make it cheaper or split it (CONTRIBUTING.md)`
    })
}

function printSlowest(results: readonly FileResult[], { print, nameOf }: RunOptions): void {
  const slowest = results.toSorted((one, other) => other.processorSeconds - one.processorSeconds)
  print('')
  print('The files with the most processor time:')
  for (const { file, processorSeconds, seconds } of slowest.slice(0, slowestShown))
    print(`  ${processorSeconds.toFixed(1).padStart(5)} s of CPU, ${seconds.toFixed(1)} s  ${nameOf(file)}`)
}

/** Returns `7 min 12 s`. */
function minutesOf(seconds: number): string {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)} min ${whole % 60} s`
}

/** Says how many statements declared the tests: one statement in a loop, or for two stores, declares several cases. */
function countsOf(places: readonly string[]): string {
  const statements = new Set(places).size
  return `${statements} statements declare these ${places.length} cases.`
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

/** Says whether a failure comes from files that ran before in the same process. The file has failed in any case. */
async function printWhetherAlone({ file, after = [] }: FileResult, options: RunOptions): Promise<void> {
  const { print, limitSeconds, signal } = options
  if (after.length === 0 || signal?.aborted === true) return
  const { failed } = await runTestFile(file, { limitSeconds, signal, skip: options.skipOf?.(file) })
  print(
    failed.length === 0
      ? `  It passes in a process of its own, and failed after ${after.join(', ')}`
      : '  It fails in a process of its own too.',
  )
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '      ')
}
