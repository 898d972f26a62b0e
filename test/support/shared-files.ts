/** Runs test files one after the other in processes that they share. */
import type { ChildProcess } from 'node:child_process'
import type { TestRecord } from './event-reporter.ts'
import { type FileMessage, type FileOrder, outputEnd, type TestFile } from './file-messages.ts'
import {
  type Ending,
  type FileOptions,
  type FileResult,
  fileFailure,
  killGroup,
  outcomesOf,
  outputKept,
  sharedProcess,
  silenceOf,
  startTestProcess,
} from './test-file.ts'

/** A process grows with each file. Above this size, it runs no other one, because a small machine has several processes. */
const mostBytes = 1024 ** 3

/** A file that shares its process. */
export interface SharedFile extends TestFile {
  /** The tests whose full name matches do not run. */
  readonly skip: RegExp | undefined
}

type Left = Extract<FileMessage, { kind: 'left' }>

/** A process that runs test files one after the other. */
export class SharedProcess {
  readonly #child: ChildProcess
  readonly #exit: Promise<number | null>
  readonly #names: string[] = []
  readonly #outputs = ['', '']
  #receive = (_message: FileMessage): void => {}
  #isUsable = true
  #hasFailed = false

  /** @param files all files that the process may run. */
  constructor(files: readonly SharedFile[]) {
    const skipped = files.flatMap(({ name, skip }) => (skip === undefined ? [] : [patternBelow(name, skip)]))
    const child = startTestProcess(sharedProcess, 'stdout', skipped, sharedProcess, ['ignore', 'pipe', 'pipe', 'ipc'])
    for (const [index, stream] of [child.stdout, child.stderr].entries())
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#outputs[index] += text
      })
    child.on('message', (message) => this.#receive(message as FileMessage))
    this.#exit = new Promise((resolve) => {
      // An order that a killed process did not receive is an error, too.
      child.on('error', () => resolve(child.exitCode))
      child.once('exit', resolve)
    })
    this.#child = child
  }

  /** False after a file that failed or left something, because the next file would find its remains. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  async run({ file, name }: SharedFile, { limitSeconds, signal: stop }: FileOptions): Promise<FileResult> {
    const started = performance.now()
    const records: TestRecord[] = []
    const left = new Promise<Left>((resolve) => {
      this.#receive = (message) => {
        if (message.kind === 'left') resolve(message)
        else records.push(message)
      }
    })
    const limit = silenceOf(() => records.length, limitSeconds)
    const end = AbortSignal.any(stop === undefined ? [limit.signal] : [limit.signal, stop])
    const kill = (): void => killGroup(this.#child)
    end.addEventListener('abort', kill)
    if (end.aborted) kill()
    this.#child.send({ file, name } satisfies FileOrder, () => {})
    const outcome = await Promise.race([left, this.#exit])
    limit.stop()
    end.removeEventListener('abort', kill)
    const hasLeft = typeof outcome === 'object' && outcome !== null
    const killedBy = !end.aborted ? null : limit.signal.aborted ? 'limit' : 'stop'
    const output = hasLeft ? await this.#outputOfFile() : this.#outputs.join('')
    const ending: Ending = { code: hasLeft ? 0 : outcome, killedBy, limitSeconds, output: output.slice(-outputKept) }
    const own = ownRecords(name, records)
    if (hasLeft) own.push({ kind: 'finished', processorSeconds: outcome.processorSeconds })
    const { passed, failed } = outcomesOf(file, own, ending)
    if (hasLeft) failed.push(...outcome.faults.map((fault) => fileFailure(file, fault)))
    this.#hasFailed = failed.length > 0
    this.#isUsable = hasLeft && !this.#hasFailed && outcome.bytes < mostBytes
    // A file that was killed would run for the same time again.
    const after = killedBy === null ? [...this.#names] : []
    this.#names.push(name)
    const processorSeconds = hasLeft ? outcome.processorSeconds : 0
    const seconds = (performance.now() - started) / 1000
    return { file, passed, failed, output: ending.output, seconds, processorSeconds, after }
  }

  /** Ends the process, and returns a sentence for an exit code that no file explains. */
  async end(): Promise<string[]> {
    this.#child.send('end' satisfies FileOrder, () => {})
    // A failed file may have left what keeps the process alive.
    if (this.#hasFailed) killGroup(this.#child)
    const code = await this.#exit
    killGroup(this.#child)
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
    if (this.#hasFailed || code === 0) return []
    return [
      `The process of ${this.#names.join(', ')} ended with code ${code}. ${this.#outputs.join('').slice(-outputKept)}`,
    ]
  }

  /** The process has ended a file. Its output may arrive later than the message. */
  async #outputOfFile(): Promise<string> {
    const texts: string[] = []
    for (const [index, stream] of [this.#child.stdout, this.#child.stderr].entries()) {
      const isComplete = (): boolean =>
        this.#outputs[index]?.includes(outputEnd) === true || stream?.destroyed !== false
      while (!isComplete()) await new Promise((resolve) => stream?.once('data', resolve).once('close', resolve))
      const [text = '', ...rest] = (this.#outputs[index] ?? '').split(outputEnd)
      texts.push(text)
      this.#outputs[index] = rest.join(outputEnd)
    }
    return texts.join('')
  }
}

/** Returns the pattern for the tests of one file, which are below a suite with its name. */
function patternBelow(name: string, { source }: RegExp): string {
  if (!source.startsWith('^')) throw new Error(`Expected a pattern of full names: ${source}`)
  return `/^${RegExp.escape(name)} ${source.slice(1)}/`
}

/** Returns the records without the suite of the file. A failure of this suite is one of the file as a whole. */
function ownRecords(name: string, records: readonly TestRecord[]): TestRecord[] {
  let isInside = false
  return records.flatMap((record): TestRecord[] => {
    switch (record.kind) {
      case 'begun':
      case 'ended': {
        // The suite begins before its tests, and ends after them.
        const isSuite = record.name === name && (record.kind === 'ended' || !isInside)
        isInside ||= isSuite
        return isSuite ? [] : [record]
      }
      case 'passed':
      case 'failed': {
        const path = record.path.slice(1)
        return [{ ...record, path: path.length === 0 ? ['the file as a whole'] : path }]
      }
      case 'remark':
      case 'finished':
        return [record]
    }
  })
}

interface SharingOptions extends FileOptions {
  readonly nameOf: (file: string) => string
  readonly skipOf?: ((file: string) => RegExp | undefined) | undefined
  readonly processOf?: ((file: string) => string | null) | undefined
}

/** The files of a run that share processes, by the kinds of their processes. */
export class SharedFiles {
  readonly #options: SharingOptions
  readonly #files = new Map<string, SharedFile[]>()
  readonly #idle = new Map<string, SharedProcess[]>()
  readonly #faults: string[] = []

  constructor(files: readonly string[], options: SharingOptions) {
    this.#options = options
    for (const file of files) {
      const kind = options.processOf?.(file) ?? null
      if (kind === null) continue
      const one = { file, name: options.nameOf(file), skip: options.skipOf?.(file) }
      this.#files.set(kind, [...(this.#files.get(kind) ?? []), one])
    }
  }

  /** Runs a file in a process of its kind that runs no other file now. Returns null for a file that shares none. */
  run(file: string): Promise<FileResult> | null {
    for (const [kind, files] of this.#files) {
      const own = files.find((one) => one.file === file)
      if (own !== undefined) return this.#run(kind, files, own)
    }
    return null
  }

  async #run(kind: string, files: readonly SharedFile[], own: SharedFile): Promise<FileResult> {
    const idle = this.#idle.get(kind) ?? []
    this.#idle.set(kind, idle)
    const shared = idle.pop() ?? new SharedProcess(files)
    const result = await shared.run(own, this.#options)
    if (shared.isUsable) idle.push(shared)
    else this.#faults.push(...(await shared.end()))
    return result
  }

  /** Ends the processes, and returns a sentence for each of their faults that belongs to no file. */
  async end(): Promise<readonly string[]> {
    const idle = [...this.#idle.values()].flatMap((some) => some.splice(0))
    const found = await Promise.all(idle.map((one) => one.end()))
    return [...this.#faults, ...found.flat()]
  }
}
