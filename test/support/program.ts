/** Runs the `troupe` program in a separate process and folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { sourceArguments } from './joined-files.ts'

const root = dirname(dirname(import.meta.dirname))

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  /** Variables added to an environment that has no settings of the service. */
  readonly env?: Readonly<Record<string, string>>
  /** Arguments for Node.js, before the program. */
  readonly nodeArgs?: readonly string[]
  readonly node?: string
  /** The standard input. Default: none. */
  readonly input?: Readable
}

export class Program {
  readonly process: ChildProcess
  readonly ended: Promise<Ending>
  #stdout = ''
  #stderr = ''
  #onOutput = (): void => {}

  constructor(child: ChildProcess) {
    this.process = child
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
      this.#onOutput()
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr }))
    })
  }

  /** Waits for output that matches the pattern. Rejects when the program ends without it. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    const found = new Promise<RegExpExecArray>((resolve) => {
      this.#onOutput = () => {
        const match = pattern.exec(this.#stdout)
        if (match !== null) resolve(match)
      }
      this.#onOutput()
    })
    const end = this.ended.then(({ code, stdout, stderr }) => {
      const match = pattern.exec(stdout)
      if (match !== null) return match
      throw new Error(`The program ended (code ${code}) without printing ${pattern}:\n${stdout}\n${stderr}`)
    })
    return Promise.race([found, end])
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name)
  }
}

/** A folder with an application, as a user of the package would have it. */
export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'troupe-cli-'))
  readonly #started: Program[] = []

  constructor() {
    mkdirSync(join(this.folder, 'node_modules'))
    symlinkSync(root, join(this.folder, 'node_modules', 'troupe'), 'junction')
    symlinkSync(join(root, 'node_modules', 'zod'), join(this.folder, 'node_modules', 'zod'), 'junction')
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  start(args: readonly string[], options: RunOptions = {}): Program {
    return this.startFile(join(root, 'bin', 'troupe.js'), args, options)
  }

  /** Starts another program in this folder. */
  startFile(file: string, args: readonly string[] = [], options: RunOptions = {}): Program {
    const { env = {}, nodeArgs = sourceArguments(), node = process.execPath, input } = options
    const child = spawn(node, [...nodeArgs, file, ...args], {
      cwd: this.folder,
      env: { ...environmentWithoutSettings(), ...env },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    if (input !== undefined && child.stdin !== null) {
      // The program may end before it has read everything.
      child.stdin.on('error', () => {})
      input.pipe(child.stdin)
    }
    const program = new Program(child)
    this.#started.push(program)
    return program
  }

  /** Runs the program to its end. A program that does not end within 60 s is killed. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<Ending> {
    const program = this.start(args, options)
    // Real time: it limits a program that does not end.
    const limit = setTimeout(() => program.signal('SIGKILL'), 60_000)
    return program.ended.finally(() => clearTimeout(limit))
  }

  async remove(): Promise<void> {
    for (const program of this.#started) {
      program.process.kill('SIGKILL')
      await program.ended
    }
    rmSync(this.folder, { recursive: true, force: true })
  }
}

const settings = new Set(['PORT', 'HOST', 'BASE_URL', 'DATABASE_URL', 'LOG_LEVEL', 'NODE_OPTIONS', 'NODE_TEST_CONTEXT'])

export function environmentWithoutSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !settings.has(name) && !name.startsWith('TROUPE_')),
  )
}
