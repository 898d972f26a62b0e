/** Stores the bytes of files in a folder. Processes on several machines may share it. */
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { closeQuietly, codeOf, pieces, syncFolders, usable, writeAll } from './disk.ts'
import { type ByteRange, type FileBytes, isObjectKey, type OpenObject, requireKey } from './file-bytes.ts'

/** Closes files whose bytes nothing reads any longer. Node.js ends the process when it has to close a file itself. */
const unread = new FinalizationRegistry<FileHandle>((file) => void closeQuietly(file))

export class DirectoryBytes implements FileBytes {
  readonly #root: string

  constructor(root: string) {
    this.#root = resolve(root)
  }

  async put(key: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#pathOf(key)
    const file = await usable('store the file', () => create(path))
    try {
      for await (const chunk of chunks) await usable('store the file', () => writeAll(file, chunk))
      // The row that names the object is committed afterwards, so the bytes must be on the disk before it.
      await usable('store the file', async () => {
        await file.sync()
        await syncFolders(dirname(path), this.#root)
      })
    } catch (error) {
      await closeQuietly(file)
      await rm(path, { force: true }).catch(() => {})
      throw error
    }
    await usable('store the file', () => file.close())
  }

  async open(key: string, range: ByteRange | null): Promise<OpenObject | null> {
    const file = await usable('read the file', () => openExisting(this.#pathOf(key)))
    if (file === null) return null
    try {
      const { size } = await usable('read the file', () => file.stat())
      const bytes = readAndClose(file, range ?? { start: 0, end: size })
      unread.register(bytes, file)
      return { size, bytes, close: () => closeQuietly(file) }
    } catch (error) {
      await closeQuietly(file)
      throw error
    }
  }

  async delete(key: string): Promise<void> {
    await usable('delete the file', () => rm(this.#pathOf(key), { force: true }))
  }

  async *list(digit: string): AsyncGenerator<readonly string[], void> {
    for (const { name, isFolder } of await usable('list the files', () => entriesOf(this.#root))) {
      if (!isFolder || !name.startsWith(digit)) continue
      const objects = await usable('list the files', () => entriesOf(join(this.#root, name)))
      yield objects.map((object) => object.name).filter((key) => isObjectKey(key) && key.startsWith(name))
    }
  }

  async close(): Promise<void> {}

  /** A folder with very many entries is slow on some file systems. */
  #pathOf(key: string): string {
    requireKey(key)
    return join(this.#root, key.slice(0, 2), key)
  }
}

async function create(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  return open(path, 'wx', 0o600)
}

async function openExisting(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** The entries of a folder, in order. Empty when it does not exist yet. */
async function entriesOf(path: string): Promise<readonly { readonly name: string; readonly isFolder: boolean }[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true })
    return entries
      .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

async function* readAndClose(file: FileHandle, range: ByteRange): AsyncGenerator<Uint8Array, void> {
  try {
    yield* pieces(file, range)
  } finally {
    await closeQuietly(file)
  }
}
