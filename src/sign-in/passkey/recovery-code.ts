/** Recovery codes: each signs the owner in once, without a passkey. */
import { randomBytes } from '../../secret/random.ts'

/** Base 32 of Douglas Crockford, without characters that look alike. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** 140 random bits. */
const length = 28
const groups = /.{4}(?=.)/g

const isCode = new RegExp(`^[${alphabet}]{${length}}$`)

/** Number of codes that an owner gets at once. */
const codesAtOnce = 10

/** Returns ten codes such as `k7dm-4x2p-…`, of seven groups. */
export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: codesAtOnce }, () => {
    const text = [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length]).join('')
    return text.replaceAll(groups, '$&-')
  })
}

/** Reads a typed code; null for any other text. Case, spaces and hyphens do not count, and similar letters are the same. */
export function parseRecoveryCode(typed: string): string | null {
  const text = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return isCode.test(text) ? text : null
}
