/** Names and secrets that nobody can guess, from the system's secure source. */
import { randomBytes } from 'node:crypto'

/** 128 bits as 32 lowercase hexadecimal characters. */
export function randomId(): string {
  return randomBytes(16).toString('hex')
}

/**
 * Text for a credential, base64url.
 *
 * @throws RangeError below 16 bytes, which is the least that RFC 6749 section 10.10 asks for.
 */
export function randomToken(bytes = 32): string {
  if (!(bytes >= 16)) throw new RangeError(`A token of ${bytes} bytes can be guessed; 16 is the least`)
  return randomBytes(bytes).toString('base64url')
}

/** 160 bits as 40 lowercase hexadecimal characters. */
export function randomPassphrase(): string {
  return randomBytes(20).toString('hex')
}
