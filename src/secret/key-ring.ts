/** The keys that seal secrets: the first key seals, and all keys open. */
import { createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto'

export interface KeyRing {
  /** Id of the key that new values are sealed with. */
  readonly currentId: string
  /** Keys by id. The key strings are not stored. */
  readonly keys: ReadonlyMap<string, KeyObject>
}

/** Reports which entry of a key ring is wrong. The message contains no character of any key. */
export class KeyRingError extends Error {
  override readonly name = 'KeyRingError'
}

const keyBytes = 32

/**
 * Parses `id:key,id:key`. Keys are 32 random bytes in base64url; the first key seals and the others only open.
 *
 * @throws KeyRingError naming the entry by its position, or by its id if the id is valid.
 */
export function parseKeyRing(text: string): KeyRing {
  const keys = new Map<string, KeyObject>()
  const seen = new Map<string, string>()
  if (text.trim() === '') throw new KeyRingError('The key ring is empty: it needs at least one entry "id:key"')
  for (const [index, entry] of text.split(',').entries()) {
    const { id, key } = parseEntry(entry.trim(), index + 1)
    if (keys.has(id)) throw new KeyRingError(`Two entries of the key ring have the id "${id}"`)
    // With the same key under two ids, a key rotation would have no effect.
    const bytes = key.toString('hex')
    const twin = seen.get(bytes)
    if (twin !== undefined) throw new KeyRingError(`The entries "${twin}" and "${id}" of the key ring are the same key`)
    seen.set(bytes, id)
    keys.set(id, sealingKey(key))
  }
  const [currentId] = keys.keys()
  if (currentId === undefined) throw new KeyRingError('The key ring is empty: it needs at least one entry "id:key"')
  return { currentId, keys }
}

/** Generates an entry `id:key` for `parseKeyRing`, with a random id and key. */
export function generateKey(): string {
  return `k${randomBytes(6).toString('hex')}:${randomBytes(keyBytes).toString('base64url')}`
}

function parseEntry(entry: string, position: number): { id: string; key: Buffer } {
  const colon = entry.indexOf(':')
  if (colon === -1) throw new KeyRingError(`Entry ${position} of the key ring has no ":" between id and key`)
  const id = entry.slice(0, colon)
  // The message omits the invalid id, because it may be a key that was written in the wrong place.
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(id)) {
    throw new KeyRingError(
      `The id of entry ${position} of the key ring is not 1 to 32 of the characters A-Z a-z 0-9 _ -`,
    )
  }
  const text = entry.slice(colon + 1)
  if (!/^[A-Za-z0-9_-]*$/.test(text)) {
    throw new KeyRingError(`Key "${id}" contains characters that are not base64url (A-Z a-z 0-9 _ -, without padding)`)
  }
  const key = Buffer.from(text, 'base64url')
  if (key.length !== keyBytes) throw new KeyRingError(`Key "${id}" has ${key.length} bytes instead of ${keyBytes}`)
  if (key.toString('base64url') !== text) throw new KeyRingError(`Key "${id}" is not well-formed base64url`)
  if (isGuessable(key)) {
    throw new KeyRingError(`Key "${id}" is not random bytes: it is typed text or a guessable pattern`)
  }
  return { id, key }
}

/** Detects typed text, repetitions and counting. Random bytes match less than once in 10^13. */
function isGuessable(key: Buffer): boolean {
  const steps = new Set(key.map((byte, index) => byte - (key[index - 1] ?? 0)))
  return new Set(key).size < 16 || steps.size < 8 || key.every((byte) => byte >= 0x20 && byte < 0x7f)
}

/** Derives a separate key for sealing (RFC 5869), so that other uses of the ring's keys never share it. */
function sealingKey(key: Buffer): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', 'troupe seal v1', keyBytes)))
}
