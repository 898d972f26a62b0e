/** Scheduled exports in a folder. */
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf, usable, writeWholeFile } from '../../object/disk.ts'
import { isRun } from '../../job/runs.ts'
import { completeFile, type ExportPlace } from './export-place.ts'

const deleting = 'delete an old export'

export class ExportFolder implements ExportPlace {
  readonly #root: string

  constructor(root: string) {
    this.#root = resolve(root)
  }

  put(run: string, file: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    return writeWholeFile(join(this.#root, run, file), chunks, { what: 'store the export', root: this.#root })
  }

  has(run: string, file: string): Promise<boolean> {
    return usable('look for the export', async () => {
      try {
        await stat(join(this.#root, run, file))
        return true
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return false
        throw error
      }
    })
  }

  runs(): Promise<readonly string[]> {
    return usable('list the exports', async () => {
      await mkdir(this.#root, { recursive: true, mode: 0o700 })
      const entries = await readdir(this.#root, { withFileTypes: true })
      return entries
        .filter((entry) => entry.isDirectory() && isRun(entry.name))
        .map(({ name }) => name)
        .toSorted()
    })
  }

  async remove(run: string, signal: AbortSignal): Promise<void> {
    const folder = join(this.#root, run)
    // A deletion that breaks off must not leave a run that looks complete.
    await usable(deleting, () => rm(join(folder, completeFile), { force: true }))
    for (const name of await usable(deleting, () => readdir(folder))) {
      signal.throwIfAborted()
      await usable(deleting, () => rm(join(folder, name), { recursive: true, force: true }))
    }
    await usable(deleting, () => rm(folder, { recursive: true, force: true }))
  }

  async close(): Promise<void> {}
}
