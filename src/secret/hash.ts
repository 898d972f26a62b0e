/** Secrets that are only recognised, never shown again. */
import { hash, timingSafeEqual } from 'node:crypto'

declare const hashBrand: unique symbol
export type SecretHash = string & { readonly [hashBrand]: true }

/**
 * SHA-256 in base64url, the key of a look-up by secret. Without salt or stretching, so only for secrets that were made at
 * random with 128 bits or more, never for what a person chose.
 */
export function hashSecret(secret: string): SecretHash {
  return hash('sha256', secret, 'base64url') as SecretHash
}

/**
 * Whether two texts are the same. Their digests are compared, always in full, so the time tells neither the length of the
 * expected one nor how much of it was guessed.
 */
export function sameSecret(presented: string, expected: string): boolean {
  return timingSafeEqual(digest(presented), digest(expected))
}

/** By way of text because the one-shot hash is three times as fast with it as with a buffer. */
function digest(text: string): Buffer {
  return Buffer.from(hash('sha256', text, 'hex'), 'latin1')
}
