/**
 * Sealed secrets, which the service must show or send again: AES-256-GCM with a key of the ring.
 *
 * The format is `v1.<key id>.<base64url of nonce, ciphertext and tag>`. The row and column of a value (its binding) are
 * authenticated, so a value that was moved elsewhere does not open.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { KeyRing } from './key-ring.ts'
import { randomBytes } from './random.ts'

declare const sealedBrand: unique symbol
export type Sealed = string & { readonly [sealedBrand]: true }

const algorithm = 'aes-256-gcm'
const prefix = 'v1.'
const nonceBytes = 12
const tagBytes = 16
const options = { authTagLength: tagBytes } as const

/**
 * Seals a string. Random nonces are safe for 2^32 values under one key.
 *
 * @param binding Place of the value: actor, field, then the rest of the key. `open` needs the same binding.
 * @throws ServiceError `invalid_value` for a string with a lone surrogate, which UTF-8 cannot preserve.
 */
export function seal(ring: KeyRing, plaintext: string, binding: readonly string[]): Sealed {
  if (!plaintext.isWellFormed()) throw new ServiceError('invalid_value', 'The secret is not well-formed text')
  const key = ring.keys.get(ring.currentId)
  if (key === undefined) throw cannot('seal', `key "${ring.currentId}" is not in the key ring`, binding)
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce, options)
  cipher.setAAD(associatedData(binding))
  const box = Buffer.concat([nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `${prefix}${ring.currentId}.${box.toString('base64url')}` as Sealed
}

/**
 * Opens a sealed value. Returns exactly the string that was sealed.
 *
 * @throws ServiceError `secret_lost` when the key is missing; `server_error` when it is wrong, or the value was changed or moved. Another encoding
 *   of the same bytes counts as a change. The reason names the key.
 */
export function open(ring: KeyRing, sealed: Sealed, binding: readonly string[]): string {
  const id = keyIdOf(sealed)
  if (id === null) throw cannot('open', 'it is not a sealed value', binding)
  const key = ring.keys.get(id)
  if (key === undefined) {
    const { reason = '' } = cannot('open', `key "${id}" is not in the key ring`, binding).detail
    throw new ServiceError('secret_lost', undefined, { reason })
  }
  const text = sealed.slice(prefix.length + id.length + 1)
  const box = Buffer.from(text, 'base64url')
  // The decoder ignores characters outside of base64url, so only encoding the bytes again detects a changed value.
  if (box.toString('base64url') !== text) throw cannot('open', `its encoding was changed (key "${id}")`, binding)
  if (box.length < nonceBytes + tagBytes) throw cannot('open', `it is truncated (key "${id}")`, binding)
  const decipher = createDecipheriv(algorithm, key, box.subarray(0, nonceBytes), options)
  decipher.setAAD(associatedData(binding))
  decipher.setAuthTag(box.subarray(-tagBytes))
  const plaintext = decipher.update(box.subarray(nonceBytes, -tagBytes))
  try {
    decipher.final()
  } catch (cause) {
    const why = `key "${id}" is not the one it was sealed with, or it was changed, or it belongs to another place`
    throw cannot('open', why, binding, cause)
  }
  return plaintext.toString('utf8')
}

/** Returns the prefix of every value that the key sealed. */
export function beginningWith(keyId: string): string {
  return `${prefix}${keyId}.`
}

/** Returns whether another key than the current one sealed the value. */
export function needsReseal(ring: KeyRing, sealed: Sealed): boolean {
  return keyIdOf(sealed) !== ring.currentId
}

/** Whether a secret could not be opened because its key is missing. */
export function isKeyMissing(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'secret_lost'
}

/** Id of the key that sealed the value. Null: it is not a sealed value. */
export function keyIdOf(sealed: string): string | null {
  const end = sealed.indexOf('.', prefix.length)
  return sealed.startsWith(prefix) && end > prefix.length ? sealed.slice(prefix.length, end) : null
}

/** Encodes the binding as JSON, so that different bindings give different bytes. */
function associatedData(binding: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(binding), 'utf8')
}

function cannot(verb: string, why: string, binding: readonly string[], cause?: unknown): ServiceError {
  const reason = `Cannot ${verb} the secret of ${JSON.stringify(binding)}: ${why}`
  return new ServiceError('server_error', undefined, { reason, cause })
}
