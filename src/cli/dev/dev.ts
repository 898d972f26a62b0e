/**
 * `troupe dev`: serves an application, and loads it again when one of its files changes. Each version runs in a process of
 * its own. A new version is loaded while the version before still serves, so broken code interrupts nothing. The process
 * of the next version has loaded the code of the service before the change, which saves most of the time of a start.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { processEnvironment, setDefaultMode } from '../../config/env.ts'
import { print } from '../output.ts'
import { stopSignal } from '../stop-signal.ts'
import type { Order, Report } from './messages.ts'
import { WatchedFiles } from './watched-files.ts'

/** One process with one version of the application. */
interface Version {
  readonly process: ChildProcess
  /** Resolves with the exit code. */
  readonly ended: Promise<number>
  /** The changed files, in words, and the time at which the change was seen. */
  cause: string
  changedAt: number
}

export function dev(file: string): Promise<number> {
  setDefaultMode('development')
  return new Dev(file).run()
}

class Dev {
  readonly #file: string
  readonly #files = new WatchedFiles((changed) => this.#load(`${changed.join(', ')} changed`))
  readonly #result = Promise.withResolvers<number>()
  /** The version that serves, or begins to. */
  #current: Version | null = null
  /** The version that is being loaded. */
  #next: Version | null = null
  /** A process for the next version, which has not loaded the application. */
  #spare: Version | null = null
  /** The port that the system chose for the first version. Browsers know it. */
  #freePort: number | null = null
  #isFirst = true
  #isStopping = false

  constructor(file: string) {
    this.#file = file
  }

  async run(): Promise<number> {
    void stopSignal(process).then(() => this.#stop())
    this.#load('')
    try {
      return await this.#result.promise
    } finally {
      this.#files.close()
    }
  }

  /** Loads the application in a new process, in place of one that is still loading. */
  #load(cause: string): void {
    if (this.#isStopping) return
    this.#next?.process.kill('SIGKILL')
    const version = this.#spare ?? this.#fork()
    this.#spare = null
    this.#next = version
    version.cause = cause
    version.changedAt = performance.now()
    send(version, { kind: 'load' })
  }

  #fork(): Version {
    const child = fork(process.argv[1] ?? '', ['dev', '--watched', this.#file], {
      env: { ...processEnvironment(), ...(this.#freePort === null ? {} : { PORT: String(this.#freePort) }) },
    })
    const ended = new Promise<number>((resolve) => {
      child.once('exit', (code) => resolve(code ?? 1))
    })
    const version: Version = { process: child, ended, cause: '', changedAt: 0 }
    child.on('message', (message: Report) => void this.#receive(version, message))
    void ended.then((code) => this.#hasEnded(version, code))
    return version
  }

  async #receive(version: Version, message: Report): Promise<void> {
    if (message.kind === 'files') this.#files.add(message.files)
    else if (message.kind === 'loaded') await this.#replaceBy(version)
    else this.#isServing(version, message.freePort)
  }

  async #replaceBy(version: Version): Promise<void> {
    const before = this.#current
    if (before !== null) {
      send(before, { kind: 'end' })
      await before.ended
    }
    // A further change may have begun to load another version meanwhile.
    if (this.#isStopping || this.#next !== version) return
    this.#next = null
    this.#current = version
    send(version, { kind: 'listen', isFirst: this.#isFirst })
  }

  #isServing(version: Version, freePort: number | null): void {
    this.#files.isBroken = false
    this.#freePort ??= freePort
    if (!this.#isFirst) print(`Reloaded in ${Math.round(performance.now() - version.changedAt)} ms: ${version.cause}`)
    this.#isFirst = false
    this.#spare ??= this.#fork()
  }

  #hasEnded(version: Version, code: number): void {
    if (this.#current === version) {
      this.#current = null
      if (this.#isStopping || this.#isFirst) this.#result.resolve(code)
      // A version that was replaced ends without a message.
      else if (this.#next === null) this.#waitForChange('Nothing is served. Waiting for a change of the files.')
    } else if (this.#next === version) {
      this.#next = null
      if (this.#isFirst) this.#result.resolve(code)
      else if (!this.#isStopping)
        this.#waitForChange(
          this.#current === null
            ? 'Nothing is served. Waiting for a change of the files.'
            : 'Still serving the version before. Waiting for a change of the files.',
        )
    } else if (this.#spare === version) {
      this.#spare = null
    }
  }

  #waitForChange(sentence: string): void {
    this.#files.isBroken = true
    this.#spare ??= this.#fork()
    print(sentence)
  }

  #stop(): void {
    this.#isStopping = true
    this.#next?.process.kill('SIGKILL')
    this.#spare?.process.kill('SIGKILL')
    // The signal of a terminal has already reached the process. It ignores the second one.
    if (this.#current === null) this.#result.resolve(0)
    else this.#current.process.kill('SIGTERM')
  }
}

function send(version: Version, order: Order): void {
  // The process may have ended at this moment.
  if (version.process.connected) version.process.send(order, () => {})
}
