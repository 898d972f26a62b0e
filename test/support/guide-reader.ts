/** Follows a guide as a reader would: writes the files and runs the commands. */
import { execFile, spawn } from 'node:child_process'
import { appendFileSync, chmodSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { compile } from './compile-application.ts'
import { sourceArguments } from './joined-files.ts'
import { environmentWithoutSettings, Program, Workplace } from './program.ts'

export interface Step {
  /** A block of a file begins with a comment that names the file; other blocks of `sh` are commands. */
  readonly kind: 'write' | 'run'
  readonly text: string
}

const program = join(dirname(dirname(import.meta.dirname)), 'bin', 'troupe.js')
const named = /^(?:\/\/|<!--) ([\w./-]+\.\w+)(, continued)?(?: -->)?$/

export class GuideReader {
  readonly place = new Workplace()
  readonly steps: readonly Step[]
  /** Lines that export variables, which later commands need. */
  #exports: readonly string[] = []
  readonly #started: Program[] = []

  constructor(guide: string) {
    const blocks = [...guide.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    this.steps = blocks.flatMap(([, language, text = '']): Step[] => {
      if (named.test(text.split('\n', 1)[0] ?? '')) return [{ kind: 'write', text }]
      return language === 'sh' ? [{ kind: 'run', text }] : []
    })
    this.place.write('package.json', '{"type":"module"}')
    // The commands run this source with the Node.js of the tests.
    const node = `exec ${process.execPath} ${sourceArguments().join(' ')}`
    this.place.write('bin/node', `#!/bin/sh\n${node} "$@"\n`)
    this.place.write('bin/npx', `#!/bin/sh\nshift\n${node} ${program} "$@"\n`)
    for (const name of ['bin/node', 'bin/npx']) chmodSync(this.place.path(name), 0o755)
  }

  /** Writes the file of a block. A block with "continued" is appended, and any other block replaces the file. */
  write({ text }: Step): void {
    const [first = ''] = text.split('\n', 1)
    const [, name = '', continued] = named.exec(first) ?? []
    const body = text.slice(first.length + 1)
    if (continued === undefined) this.place.write(name, body)
    else appendFileSync(this.place.path(name), body)
  }

  /** Runs commands to their end and returns their output. @throws when a command fails. */
  async run(commands: string): Promise<string> {
    const script = [...this.#exports, commands].join('\n')
    this.#exports = [...this.#exports, ...commands.split('\n').filter((line) => line.startsWith('export '))]
    const options = { cwd: this.place.folder, env: this.#environment(), timeout: 120_000 }
    return (await promisify(execFile)('bash', [...bash, script], options)).stdout
  }

  /** Starts a command that runs a server. `remove` ends the command. */
  start(command: string, env: Readonly<Record<string, string>>): Program {
    const script = [...this.#exports, `exec ${command}`].join('\n')
    const child = spawn('bash', [...bash, script], {
      cwd: this.place.folder,
      env: { ...this.#environment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const started = new Program(child)
    this.#started.push(started)
    return started
  }

  /** Returns the compiler's errors about the files, or '' without errors. */
  compile(): string {
    return compile(this.place)
  }

  async remove(): Promise<void> {
    for (const started of this.#started) {
      started.signal('SIGKILL')
      await started.ended
    }
    await this.place.remove()
  }

  #environment(): NodeJS.ProcessEnv {
    return { ...environmentWithoutSettings(), PATH: `${this.place.path('bin')}:${process.env['PATH']}` }
  }
}

const bash = ['--norc', '-euo', 'pipefail', '-c'] as const
