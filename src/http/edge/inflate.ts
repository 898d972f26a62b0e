/** Decompresses bodies, for the few endpoints that accept compression. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { ServiceError } from '../../errors.ts'

const inflate = promisify(gunzip)

/** @throws ServiceError `payload_too_large` when the result exceeds `maxBytes`, `bad_request` for invalid gzip. */
export async function inflated(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await inflate(bytes, { maxOutputLength: maxBytes })
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new ServiceError(
        'payload_too_large',
        `Cannot read the body: it is larger than ${maxBytes} bytes after decompression`,
      )
    }
    throw new ServiceError('bad_request', 'Cannot read the body: it is not valid gzip', { cause })
  }
}
