/** Random ids and secrets from the system's secure source. */
import { randomFillSync } from 'node:crypto'

/** Bytes that are read from the source at once, because each reading costs as much as 100 bytes. */
export const readAtOnce = 4096
const pool = Buffer.allocUnsafeSlow(readAtOnce)
let used = readAtOnce

/** Returns random bytes. Each byte is returned once, and then erased from memory of this module. */
export function randomBytes(count: number): Buffer {
  if (count > readAtOnce) return randomFillSync(Buffer.allocUnsafe(count))
  if (used + count > readAtOnce) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = Buffer.from(pool.subarray(used, used + count))
  pool.fill(0, used, used + count)
  used += count
  return bytes
}

/** Returns 128 random bits as 32 lowercase hexadecimal characters. */
export function randomId(): string {
  return randomBytes(16).toString('hex')
}

/**
 * Returns a random credential in base64url.
 *
 * @throws RangeError below 16 bytes, the minimum of RFC 6749 section 10.10.
 */
export function randomToken(bytes = 32): string {
  if (!(bytes >= 16)) throw new RangeError(`A token of ${bytes} bytes can be guessed: use at least 16 bytes`)
  return randomBytes(bytes).toString('base64url')
}

/** Returns 160 random bits as 40 lowercase hexadecimal characters. */
export function randomPassphrase(): string {
  return randomBytes(20).toString('hex')
}
