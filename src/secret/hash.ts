/** Hashes of secrets that are only compared, never shown again. */
import { hash, timingSafeEqual } from 'node:crypto'

declare const hashBrand: unique symbol
export type SecretHash = string & { readonly [hashBrand]: true }

/**
 * Returns the SHA-256 in base64url, for lookups by secret. It has no salt or stretching: use it only for random
 * secrets of 128 bits or more, never for passwords of people.
 */
export function hashSecret(secret: string): SecretHash {
  return hash('sha256', secret, 'base64url') as SecretHash
}

declare const digestBrand: unique symbol
export type SecretDigest = string & { readonly [digestBrand]: true }

/**
 * Compares two strings by their digests in constant time. The timing reveals neither the length of the expected string
 * nor how much of it was guessed.
 */
export function sameSecret(presented: string, expected: string): boolean {
  return hasDigest(presented, secretDigest(expected))
}

/** Like `sameSecret`, with the digest of the expected string. */
export function hasDigest(presented: string, expected: SecretDigest): boolean {
  return timingSafeEqual(Buffer.from(secretDigest(presented), 'latin1'), Buffer.from(expected, 'latin1'))
}

/**
 * Returns the SHA-256 in hex, to keep in memory. A Buffer would keep the whole pool of 64 kB from which Node.js allocated it,
 * and the one-shot hash is three times as fast with strings.
 */
export function secretDigest(text: string): SecretDigest {
  return hash('sha256', text, 'hex') as SecretDigest
}
