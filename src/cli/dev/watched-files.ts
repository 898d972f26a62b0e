/** Watches the files of an application, by their folders, because editors replace a file instead of writing to it. */
import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Time without a further change after which the application is loaded, in milliseconds. Editors write in several steps. */
const quietMs = 40

/** Files from which code can be imported. */
const isCode = /\.(?:[cm]?[jt]sx?|json)$/

export class WatchedFiles {
  readonly #onChange: (files: readonly string[]) => void
  readonly #files = new Set<string>()
  readonly #folders = new Map<string, FSWatcher>()
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  /** Every code file in the folders counts, because a missing import names a file that does not exist yet. */
  isBroken = false

  constructor(onChange: (files: readonly string[]) => void) {
    this.#onChange = onChange
  }

  add(files: readonly string[]): void {
    for (const file of files) {
      this.#files.add(file)
      const folder = dirname(file)
      if (!this.#folders.has(folder)) this.#folders.set(folder, this.#watch(folder))
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  #watch(folder: string): FSWatcher {
    const watcher = watch(folder, (_event, name) => {
      if (name === null) return
      const path = join(folder, name)
      if (this.#files.has(path) || (this.isBroken && isCode.test(name))) this.#note(path)
    })
    // The folder was deleted. A later load of a file in the folder watches it again.
    watcher.on('error', () => {
      watcher.close()
      this.#folders.delete(folder)
    })
    return watcher
  }

  #note(path: string): void {
    this.#changed.add(basename(path))
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const files = [...this.#changed]
      this.#changed.clear()
      this.#onChange(files)
    }, quietMs)
  }
}
