/** Reads a form with one file (RFC 7578). The file is a stream, so it may be larger than memory. */
import type { Readable } from 'node:stream'
import { Readable as ReadableOf } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '../../errors.ts'
import { Params } from './params.ts'
import type { HttpRequest } from './request.ts'

export interface Upload {
  /** Fields that stand before the file. */
  readonly fields: Params
  /** The name at the client, without a path. Empty: no file was chosen. */
  readonly filename: string
  /** The media type, as the client declares it. */
  readonly type: string
  /** Ends when the whole form has arrived, and fails when it does not. */
  readonly bytes: AsyncIterable<Uint8Array>
}

const maxFields = 20
const longestField = 4096

/**
 * Passes the file of the field `file` to `take`, and returns its result.
 *
 * @throws ServiceError `bad_request` for a form that is malformed, breaks off, or has no such field.
 */
export async function readUpload<T>(request: HttpRequest, take: (upload: Upload) => Promise<T>): Promise<T> {
  // The first upload loads the library, so that a start loads little (docs/decisions/059).
  const { Busboy } = await import('@fastify/busboy')
  const parser = new Busboy({
    headers: { 'content-type': request.header('content-type') ?? '' },
    limits: { fields: maxFields, fieldSize: longestField, files: 1, parts: maxFields + 1, headerPairs: 20 },
  })
  const { promise: arrived, resolve, reject } = Promise.withResolvers<void>()
  arrived.catch(() => {})
  const fields = new Map<string, string>()
  let file: Readable | undefined
  let taken: Promise<T> | undefined
  parser.on('field', (name, value) => void fields.set(name, value))
  parser.on('file', (name, stream, filename: string | undefined, _encoding, type) => {
    if (name !== 'file' || taken !== undefined) return void stream.resume()
    file = stream
    // Without a listener, an error before the first read would end the process.
    stream.on('error', () => {})
    const bytes = untilArrived(stream, arrived)
    taken = take({ fields: new Params(fields), filename: filename ?? '', type, bytes })
    // The rest of the body is not needed when the file is refused.
    taken.then(
      () => stream.resume(),
      (error: unknown) => parser.destroy(error as Error),
    )
  })
  try {
    await pipeline(ReadableOf.from(request.stream()), parser)
    resolve()
  } catch (error) {
    const failure = error instanceof ServiceError ? error : malformed('it is not a complete multipart form', error)
    reject(failure)
    file?.destroy(failure)
    if (taken === undefined) throw failure
  }
  if (taken === undefined) throw malformed('it has no file')
  return taken
}

async function* untilArrived(file: Readable, arrived: Promise<void>): AsyncGenerator<Uint8Array, void> {
  for await (const piece of file as AsyncIterable<Buffer>) yield piece
  await arrived
}

function malformed(why: string, cause?: unknown): ServiceError {
  return new ServiceError('bad_request', `Cannot read the form: ${why}`, { cause })
}
