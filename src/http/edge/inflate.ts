/** Compressed bodies, for the few endpoints that take them. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { ServiceError } from '../../errors.ts'

const inflate = promisify(gunzip)

/** @throws ServiceError `payload_too_large` when more than `maxBytes` would come of it, `bad_request` for what is no gzip. */
export async function inflated(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await inflate(bytes, { maxOutputLength: maxBytes })
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new ServiceError('payload_too_large', `Cannot read the body: unpacked it is larger than ${maxBytes} bytes`)
    }
    throw new ServiceError('bad_request', 'Cannot read the body: it is not the gzip that it says it is', { cause })
  }
}
