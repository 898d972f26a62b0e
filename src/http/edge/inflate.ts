/** Decompresses bodies, for the few endpoints that accept compression. */
import { type Gunzip, gunzip, type ZlibOptions } from 'node:zlib'
import { ServiceError } from '../../errors.ts'

/** The result with `info: true`, which the types of the library lack. */
interface WithEngine {
  readonly buffer: Uint8Array
  readonly engine: Gunzip
}

function inflate(bytes: Uint8Array, options: ZlibOptions): Promise<WithEngine> {
  return new Promise((resolve, reject) => {
    gunzip(bytes, { ...options, info: true }, (error, result) =>
      error === null ? resolve(result as unknown as WithEngine) : reject(error),
    )
  })
}

/** @throws ServiceError `payload_too_large` when the result exceeds `maxBytes`, `bad_request` for invalid gzip. */
export async function inflated(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const { buffer, engine } = await inflate(bytes, { maxOutputLength: maxBytes }).catch((cause: unknown) => {
    throw cause instanceof RangeError ? tooLarge(maxBytes) : invalid(cause)
  })
  // The library ignores what follows a null byte behind the end.
  if (engine.bytesWritten < bytes.length) throw invalid('more bytes follow behind its end')
  return buffer
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `Cannot read the body: it is larger than ${maxBytes} bytes after decompression`,
  )
}

function invalid(cause: unknown): ServiceError {
  return new ServiceError('bad_request', 'Cannot read the body: it is not valid gzip', { cause })
}
