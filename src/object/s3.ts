/** Stores the bytes of files in an S3-compatible store. */
import { type ByteRange, type FileBytes, isObjectKey, type OpenObject, requireKey } from './file-bytes.ts'
import { S3Objects, type S3Settings } from './s3-objects.ts'

export { s3Settings } from './s3-objects.ts'

export class S3Bytes implements FileBytes {
  readonly #objects: S3Objects

  constructor(settings: S3Settings, timing?: { readonly pauseMs: number }) {
    this.#objects = new S3Objects(settings, 'file', timing)
  }

  async put(key: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    requireKey(key)
    await this.#objects.put(key, chunks)
  }

  async open(key: string, range: ByteRange | null): Promise<OpenObject | null> {
    requireKey(key)
    return this.#objects.open(key, range)
  }

  async delete(key: string): Promise<void> {
    requireKey(key)
    await this.#objects.delete(key)
  }

  async *list(digit: string): AsyncGenerator<readonly string[], void> {
    for await (const names of this.#objects.list(digit, 'all')) yield names.filter(isObjectKey)
  }

  close(): Promise<void> {
    return this.#objects.close()
  }
}
