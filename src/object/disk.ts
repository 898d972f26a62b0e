/** Work with files of the disk, for storages that use it. */
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ServiceError } from '../errors.ts'
import type { ByteRange } from './file-bytes.ts'

/** Bytes per read. */
const pieceBytes = 262_144

export async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten
}

/** Reads a part of a file, and leaves the file open. */
export async function* pieces(file: FileHandle, { start, end }: ByteRange): AsyncGenerator<Uint8Array, void> {
  for (let position = start; position < end; ) {
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, end - position))
    const { bytesRead } = await usable('read the file', () => file.read(piece, 0, piece.length, position))
    if (bytesRead === 0) return
    position += bytesRead
    yield piece.subarray(0, bytesRead)
  }
}

/**
 * Writes a file completely and durably, or not at all. Only its owner may read the file, because it may have secrets.
 *
 * @param root The outer folder, in which the folder of the file may be new.
 * @throws ServiceError `insufficient_storage`, `store_unavailable`; what `chunks` throws.
 */
export async function writeWholeFile(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { what, root }: { readonly what: string; readonly root: string },
): Promise<void> {
  const part = `${path}.part`
  const folder = dirname(path)
  const target = await usable(what, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return open(part, 'w', 0o600)
  })
  try {
    for await (const chunk of chunks) await usable(what, () => writeAll(target, chunk))
    await usable(what, () => target.sync())
  } catch (error) {
    await closeQuietly(target)
    await rm(part, { force: true }).catch(() => {})
    throw error
  }
  await usable(what, async () => {
    await target.close()
    await rename(part, path)
    await syncFolders(folder, dirname(folder), root)
  })
}

export async function closeQuietly(file: FileHandle): Promise<void> {
  await file.close().catch(() => {})
}

/** A power loss must not remove the name of a synced file from its folder. Windows cannot sync a folder. */
export async function syncFolders(...paths: readonly string[]): Promise<void> {
  if (process.platform === 'win32') return
  for (const path of paths) {
    const folder = await open(path, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }
}

const full: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** @throws ServiceError `insufficient_storage` or `store_unavailable` in place of an error of the file system. */
export async function usable<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (full.has(codeOf(cause)))
      throw new ServiceError('insufficient_storage', `Cannot ${what}: the disk of the service is full`, { cause })
    throw unusable(what, cause)
  }
}

export function unusable(what: string, cause: unknown): ServiceError {
  return new ServiceError('store_unavailable', `Cannot ${what}: its storage cannot be used right now`, {
    cause,
  })
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code
}
