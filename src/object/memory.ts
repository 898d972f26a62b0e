/** Stores the bytes of files in the memory of this process, for tests of applications. */
import { type ByteRange, type FileBytes, type OpenObject, requireKey } from './file-bytes.ts'

export class MemoryBytes implements FileBytes {
  readonly #objects = new Map<string, Uint8Array>()

  async put(key: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    requireKey(key)
    this.#objects.set(key, Buffer.concat(await Array.fromAsync(chunks)))
  }

  async open(key: string, range: ByteRange | null): Promise<OpenObject | null> {
    requireKey(key)
    const object = this.#objects.get(key)
    if (object === undefined) return null
    return { size: object.length, bytes: once(object.slice(range?.start, range?.end)), close: async () => {} }
  }

  async delete(key: string): Promise<void> {
    this.#objects.delete(key)
  }

  async *list(digit: string): AsyncGenerator<readonly string[], void> {
    yield [...this.#objects.keys()].filter((key) => key.startsWith(digit))
  }

  async close(): Promise<void> {}
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  if (bytes.length > 0) yield bytes
}
