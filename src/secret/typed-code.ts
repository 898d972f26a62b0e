/** Codes that people type: letters and digits that do not look alike (base 32 of Douglas Crockford). */
import { randomBytes } from './random.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const groups = /.{4}(?=.)/g
const isCode = new RegExp(`^[${alphabet}]+$`)

/** Returns a random code in groups of four, such as `k7dm-4x2p`. Each character has five bits. */
export function newTypedCode(length: number): string {
  const text = [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length]).join('')
  return text.replaceAll(groups, '$&-')
}

/** Reads a typed code; null for any other text. Case, spaces and hyphens do not count, and similar letters are the same. */
export function parseTypedCode(typed: string, length: number): string | null {
  const text = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return text.length === length && isCode.test(text) ? text : null
}
