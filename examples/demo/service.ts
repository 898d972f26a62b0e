/** A service of the demo: the real program in a separate process, with its own data. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const program = join(import.meta.dirname, '..', '..', 'bin', 'troupe.js')
const application = join(import.meta.dirname, '..', 'household', 'app.ts')

export class DemoService {
  readonly #folder: string
  #child: ChildProcess | undefined
  /** A free port at the first start, and the same port afterwards. */
  #port = '0'
  url = ''

  constructor(name: string) {
    this.#folder = mkdtempSync(join(tmpdir(), `troupe-demo-${name}-`))
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async start(): Promise<void> {
    const settings = Object.entries(process.env).filter(
      ([name]) => !name.startsWith('TROUPE_') && !['BASE_URL', 'HOST', 'LOG_LEVEL', 'NODE_OPTIONS'].includes(name),
    )
    const child = spawn(process.execPath, ['--conditions=troupe-source', program, 'dev', '--no-watch', application], {
      cwd: this.#folder,
      env: {
        ...Object.fromEntries(settings),
        PORT: this.#port,
        DATABASE_URL: 'sqlite:./data/troupe.db',
        LOG_LEVEL: 'error',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    let printed = ''
    for await (const chunk of child.stdout) {
      printed += String(chunk)
      const [, url, port] = /is ready at (http:\/\/localhost:(\d+))/.exec(printed) ?? []
      if (url === undefined || port === undefined) continue
      this.url = url
      this.#port = port
      return
    }
    throw new Error(`The service did not start: ${printed}`)
  }

  /** Kills the process without a graceful shutdown, like a power failure. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    this.#child = undefined
  }

  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  remove(): void {
    this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
