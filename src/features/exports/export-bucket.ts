/** Scheduled exports in a bucket of an S3-compatible store. */
import { S3Objects, type S3Settings } from '../../object/s3-objects.ts'
import { isRun } from '../../job/runs.ts'
import { completeFile, type ExportPlace } from './export-place.ts'

/** Objects that are deleted at the same time. */
const atOnce = 8

export class ExportBucket implements ExportPlace {
  readonly #objects: S3Objects

  constructor(settings: S3Settings, timing?: { readonly pauseMs: number }) {
    this.#objects = new S3Objects(settings, 'export', timing)
  }

  put(run: string, file: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    return this.#objects.put(`${run}/${file}`, chunks)
  }

  has(run: string, file: string): Promise<boolean> {
    return this.#objects.has(`${run}/${file}`)
  }

  async runs(): Promise<readonly string[]> {
    const found: string[] = []
    for await (const names of this.#objects.list('', 'folder'))
      for (const name of names) if (name.endsWith('/') && isRun(name.slice(0, -1))) found.push(name.slice(0, -1))
    return found.toSorted()
  }

  async remove(run: string, signal: AbortSignal): Promise<void> {
    // A deletion that breaks off must not leave a run that looks complete.
    await this.#objects.delete(`${run}/${completeFile}`)
    for await (const names of this.#objects.list(`${run}/`, 'all'))
      for (let at = 0; at < names.length; at += atOnce) {
        signal.throwIfAborted()
        await Promise.all(names.slice(at, at + atOnce).map((name) => this.#objects.delete(name)))
      }
  }

  close(): Promise<void> {
    return this.#objects.close()
  }
}
