/** Archives that are compressed with gzip (RFC 1952). */
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { unusableArchive } from './archived-content.ts'

/**
 * Yields the archive itself: inflated when it is compressed, and otherwise as it is. Ending it early releases `content`.
 *
 * @throws ServiceError `invalid_value` for damaged compression; what `content` throws.
 */
export async function* unzippedArchive(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const pieces = content[Symbol.asyncIterator]()
  const { head, whole } = await begun(pieces)
  if (head[0] !== 0x1f || head[1] !== 0x8b) return yield* whole
  let given = 0
  const counted = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const piece of whole) {
      given += piece.length
      yield piece
    }
  }
  const unzip = createGunzip()
  const stream = pipeline(Readable.from(counted()), unzip, () => {})
  try {
    yield* stream as AsyncIterable<Uint8Array>
    // The library ignores what follows a null byte behind the end.
    if (given > unzip.bytesWritten)
      throw unusableArchive('more bytes follow behind its compressed end. Remove what was added to the file')
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error
    throw unusableArchive('its compression is damaged')
  } finally {
    stream.destroy()
  }
}

/** Compresses an archive. Ending it early releases `content`. @throws what `content` throws. */
export async function* zippedArchive(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const stream = pipeline(Readable.from(content), createGzip(), () => {})
  try {
    yield* stream as AsyncIterable<Uint8Array>
  } finally {
    stream.destroy()
  }
}

/** The first bytes, and all pieces with them. */
async function begun(pieces: AsyncIterator<Uint8Array>): Promise<{
  readonly head: Uint8Array
  readonly whole: AsyncGenerator<Uint8Array, void>
}> {
  let head: Uint8Array = new Uint8Array()
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    head = Buffer.concat([head, next.value])
    if (head.length >= 2) break
  }
  return { head, whole: from(head, pieces) }
}

async function* from(head: Uint8Array, pieces: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield head
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value
  } finally {
    await pieces.return?.()
  }
}
