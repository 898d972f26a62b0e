/** A limit for the size of an archive that comes in. */
import { ServiceError } from '../errors.ts'

/**
 * @param refusal Begins the message, up to its verb.
 * @throws ServiceError `payload_too_large` after `most` bytes.
 */
export async function* limited(
  content: AsyncIterable<Uint8Array>,
  most: number,
  refusal: string,
): AsyncGenerator<Uint8Array, void> {
  let size = 0
  for await (const piece of content) {
    size += piece.length
    if (size > most) throw new ServiceError('payload_too_large', `${refusal} has more than ${most} bytes`)
    yield piece
  }
}
