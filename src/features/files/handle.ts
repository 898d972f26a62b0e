/** The files of an actor, for application code. */
import type { FileContent, FileInfo, FileOptions, FilesHandle, OpenFile } from './handle-types.ts'
import { ServiceError } from '../../errors.ts'
import type { ByteRange, OpenObject } from '../../object/file-bytes.ts'
import type { FileFacts } from './file-store.ts'
import { type FileAccess, type FileCondition, type Files, maxFilesListed, fileVersionOf } from './files.ts'

export function filesHandle(files: Files, access: FileAccess): FilesHandle {
  return {
    async put(name, content, options = {}) {
      const { chunks, size, type } = contentOf(content)
      const file = { type: options.type ?? type, size, condition: conditionOf(options) }
      return infoOf((await files.put(access, name, chunks, file)).facts)
    },
    async get(name, { start = 0, end } = {}) {
      requirePart(start, end)
      const opened = await files.open(access, name, ({ size }): ByteRange => {
        const last = Math.min(end ?? size, size)
        return { start: Math.min(start, last), end: last }
      })
      if (opened === null || opened.bytes === null) return undefined
      return openFile(opened.facts, opened.bytes)
    },
    async stat(name) {
      const facts = await files.stat(access, name)
      return facts === null ? undefined : infoOf(facts)
    },
    async list({ prefix = '', limit = 100, after = '' } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > maxFilesListed)
        throw new ServiceError(
          'bad_request',
          `Cannot list files: limit must be a whole number from 1 to ${maxFilesListed}`,
        )
      const page = await files.list(access, { prefix, limit, after })
      return { files: page.files.map(infoOf), next: page.next }
    },
    delete: (name, options = {}) => files.remove(access, name, conditionOf(options)),
  }
}

function infoOf(facts: FileFacts): FileInfo {
  const { name, size, type, hash, createdAt, updatedAt } = facts
  return {
    name,
    size,
    type,
    sha256: hash,
    etag: fileVersionOf(facts),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  }
}

function openFile(facts: FileFacts, { bytes }: OpenObject): OpenFile {
  const pieces = bytes[Symbol.asyncIterator]()
  const read = async (): Promise<Uint8Array<ArrayBuffer>> =>
    Buffer.concat(await Array.fromAsync({ [Symbol.asyncIterator]: () => pieces }))
  return {
    ...infoOf(facts),
    stream: streamOf(pieces),
    bytes: read,
    text: async () => new TextDecoder().decode(await read()),
  }
}

/** `ReadableStream.from` is unknown to programs with the types of browsers, which check this file too. */
function streamOf(pieces: AsyncIterator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        await pieces.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

interface Content {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Undefined for a stream. */
  readonly size: number | undefined
  readonly type: string | undefined
}

function contentOf(content: FileContent): Content {
  if (typeof content === 'string') {
    const bytes = new TextEncoder().encode(content)
    return { chunks: once(bytes), size: bytes.length, type: 'text/plain;charset=utf-8' }
  }
  if (content instanceof Uint8Array) return { chunks: once(content), size: content.length, type: undefined }
  if (content instanceof Blob) {
    const chunks = content.stream() as AsyncIterable<Uint8Array>
    return { chunks, size: content.size, type: content.type === '' ? undefined : content.type }
  }
  if (typeof content === 'object' && content !== null && Symbol.asyncIterator in content)
    return { chunks: bytesOf(content), size: undefined, type: undefined }
  throw new ServiceError(
    'invalid_value',
    'Cannot store the file: its content must be a stream of bytes, a Uint8Array, a Blob or a string',
  )
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  if (bytes.length > 0) yield bytes
}

/** A stream of strings has no one encoding, so it is refused. */
async function* bytesOf(chunks: AsyncIterable<unknown>): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array))
      throw new ServiceError('invalid_value', 'Cannot store the file: its stream has a piece that is not a Uint8Array')
    yield chunk
  }
}

function conditionOf({ ifMatch }: Pick<FileOptions, 'ifMatch'>): FileCondition | undefined {
  if (ifMatch === undefined) return undefined
  return (stored) => {
    if (ifMatch === (stored === null ? null : fileVersionOf(stored))) return
    throw new ServiceError('precondition_failed', 'Nothing was changed: ifMatch does not name the stored version')
  }
}

function requirePart(start: number, end: number | undefined): void {
  const isPlace = (place: number): boolean => Number.isSafeInteger(place) && place >= 0
  if (!isPlace(start) || (end !== undefined && !isPlace(end)))
    throw new ServiceError('bad_request', 'Cannot read the file: start and end must be whole numbers of at least 0')
}
