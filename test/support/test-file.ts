/** Runs one test file in a separate process and returns the result of each of its tests. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestOutcome } from './coverage.ts'
import type { TestRecord } from './event-reporter.ts'
import { loadingArguments } from './joined-files.ts'

/** A test that ran. */
export interface RanTest extends TestOutcome {
  /** The place of the statement that declared the test. */
  readonly place: string
  /** Milliseconds from its beginning to its end. */
  readonly ms: number
}

export interface FailedTest extends RanTest {
  readonly why: string
}

export interface FileResult {
  readonly file: string
  readonly passed: readonly RanTest[]
  readonly failed: readonly FailedTest[]
  /** The output of the file. */
  readonly output: string
  readonly seconds: number
  /** Processor time of the process and of the processes that it started; 0 when it was killed. */
  readonly processorSeconds: number
  /** The files that ran before in the same process. Default: none. */
  readonly after?: readonly string[]
}

export interface FileOptions {
  /** The file is killed after this time without the beginning or end of a test. */
  readonly limitSeconds: number
  readonly signal?: AbortSignal | undefined
  /** The tests whose full name matches do not run. */
  readonly skip?: RegExp | undefined
}

const reporter = join(import.meta.dirname, 'event-reporter.ts')
const preloads = ['untracked-promises', 'statement-recorder', 'execution-recorder'].map((name) =>
  join(import.meta.dirname, `${name}.ts`),
)
/** The file with which a process for several test files starts. */
export const sharedProcess = join(import.meta.dirname, 'shared-process.ts')
/** The modules that the process of a test file loads besides the file. */
export const loadedModules: readonly string[] = [reporter, sharedProcess, ...preloads]
export const outputKept = 8_000

/**
 * Runs a test file. A file that ends with an error, or without a test, adds one failure, because its tests may not have run. The
 * same applies to a file in which no test begins or ends for `limitSeconds`. The limit is not for the whole file, because
 * a long file is slow on a busy machine.
 */
export async function runTestFile(file: string, options: FileOptions): Promise<FileResult> {
  const started = performance.now()
  const folder = await mkdtemp(join(tmpdir(), 'troupe-test-'))
  try {
    const recordFile = join(folder, 'records')
    const ending = await runProcess(file, recordFile, options)
    const records = await readRecords(recordFile)
    const { passed, failed } = outcomesOf(file, records, ending)
    const processorSeconds = records.find((record) => record.kind === 'finished')?.processorSeconds ?? 0
    const seconds = (performance.now() - started) / 1000
    return { file, passed, failed, output: ending.output, seconds, processorSeconds }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** How the process of a test file ended. */
export interface Ending {
  readonly code: number | null
  readonly killedBy: 'limit' | 'stop' | null
  readonly limitSeconds: number
  readonly output: string
}

/** Returns the results of the tests, and a failure of the file as a whole when its tests may not have run. */
export function outcomesOf(
  file: string,
  records: readonly TestRecord[],
  ending: Ending,
): { readonly passed: RanTest[]; readonly failed: FailedTest[] } {
  const passed = records
    .filter((record) => record.kind === 'passed')
    .map(({ path, place, ms }) => ({ path, place, ms, passed: true }))
  const failed = records
    .filter((record) => record.kind === 'failed')
    .map(({ path, place, why }) => ({ path, place, ms: 0, passed: false, why }))
  const trouble = troubleOf(records, ending, passed.length + failed.length, failed.length)
  if (trouble !== null) failed.push(fileFailure(file, trouble))
  return { passed, failed }
}

export function fileFailure(file: string, why: string): FailedTest {
  return { path: ['the file as a whole'], place: file, ms: 0, passed: false, why }
}

function troubleOf(records: readonly TestRecord[], ending: Ending, tests: number, failed: number): string | null {
  if (ending.killedBy === 'stop') return 'The run was stopped.'
  if (ending.killedBy === 'limit') {
    const running = runningTests(records)
    const what = running === '' ? 'its tests had ended, but something kept the process alive' : `running was ${running}`
    return `It was killed after ${ending.limitSeconds} s in which no test began or ended: ${what}.`
  }
  if (!records.some((record) => record.kind === 'finished')) {
    return `The process ended (code ${ending.code}) before its tests did.`
  }
  if (tests === 0) return 'It holds no test.'
  if (ending.code === 0 || failed > 0) return null
  const remarks = records.filter((record) => record.kind === 'remark').map(({ text }) => `\n${text}`)
  return `All its tests passed, and the process ended with code ${ending.code}.${remarks.join('')}`
}

/** Returns the names of tests that began and did not end, innermost last. */
function runningTests(records: readonly TestRecord[]): string {
  const running: string[] = []
  for (const record of records) {
    if (record.kind === 'begun') running.push(record.name)
    else if (record.kind === 'ended' && running.includes(record.name))
      running.splice(running.lastIndexOf(record.name), 1)
  }
  return running.map((name) => `"${name}"`).join(', ')
}

/** Starts a process that runs test files, with a reporter. */
export function startTestProcess(
  reporter: string,
  destination: string,
  skipped: readonly string[],
  file: string,
  stdio: ['ignore', 'pipe', 'pipe', 'ipc'?] = ['ignore', 'pipe', 'pipe'],
): ChildProcess {
  const flags = [
    ...loadingArguments(),
    ...preloads.map((preload) => `--import=${preload}`),
    `--test-reporter=${reporter}`,
    `--test-reporter-destination=${destination}`,
    ...skipped.map((pattern) => `--test-skip-pattern=${pattern}`),
  ]
  return spawn(process.execPath, [...flags, file], {
    stdio,
    // The child gets its own process group, so that processes started by a test end with it.
    detached: true,
    // A test that starts this run sets the variable, and results would then go to the parent of that test.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  })
}

function runProcess(
  file: string,
  recordFile: string,
  { limitSeconds, signal: stop, skip }: FileOptions,
): Promise<Ending> {
  const child = startTestProcess(reporter, recordFile, skip === undefined ? [] : [String(skip)], file)
  let output = ''
  const keep = (chunk: string): void => {
    output = (output + chunk).slice(-outputKept)
  }
  child.stdout?.setEncoding('utf8').on('data', keep)
  child.stderr?.setEncoding('utf8').on('data', keep)
  const sizeNow = (): Promise<number> =>
    stat(recordFile).then(
      (found) => found.size,
      () => 0,
    )
  const limit = silenceOf(sizeNow, limitSeconds)
  const end = AbortSignal.any(stop === undefined ? [limit.signal] : [limit.signal, stop])
  end.addEventListener('abort', () => killGroup(child))
  if (end.aborted) killGroup(child)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    // Wait for 'exit' instead of 'close', because a process that the file left behind keeps the pipes open.
    child.once('exit', (code) => {
      limit.stop()
      killGroup(child)
      child.stdout?.destroy()
      child.stderr?.destroy()
      const killedBy = !end.aborted ? null : limit.signal.aborted ? 'limit' : 'stop'
      resolve({ code, killedBy, limitSeconds, output })
    })
  })
}

/** A file may take so long until its first test begins, in seconds. */
const startSeconds = 60

/** Aborts when the size of the records did not change for `limitSeconds`. */
export function silenceOf(
  sizeNow: () => number | Promise<number>,
  limitSeconds: number,
): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  let size = 0
  let grew = performance.now()
  const look = async (): Promise<void> => {
    const now = await sizeNow()
    if (now !== size) {
      size = now
      grew = performance.now()
      return
    }
    const most = size === 0 ? Math.max(limitSeconds, startSeconds) : limitSeconds
    if (performance.now() - grew > most * 1000) controller.abort()
  }
  const timer = setInterval(() => void look(), 500)
  return { signal: controller.signal, stop: () => clearInterval(timer) }
}

export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    if (process.platform === 'win32') child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    // ESRCH: the group is empty. macOS reports EPERM while the ended process is a zombie.
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/** Reads the complete lines of the record file, because a killed process may have written half a line. */
async function readRecords(path: string): Promise<TestRecord[]> {
  let text = ''
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as TestRecord)
}
