/** The rule for the names of files. */
import { quoted, ServiceError } from '../../errors.ts'
import { toNfc } from '../../json/nfc.ts'

/** In UTF-8 bytes, as for properties. */
export const maxFileNameBytes = 1024

/** Control characters, line breaks, code points that are no characters, and characters that reverse the text after them. */
const refusedCharacters =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\\]/u

/**
 * Checks a name such as `photos/cat.jpg`.
 *
 * @throws ServiceError `invalid_name`
 */
export function checkFileName(name: string): void {
  const complaint = complaintAbout(name)
  if (complaint !== null)
    throw new ServiceError('invalid_name', `Cannot use the file name ${quoted(name)}: ${complaint}`)
}

function complaintAbout(name: string): string | null {
  if (typeof name !== 'string') return 'it is not a string'
  if (name === '') return 'it is empty'
  if (name.length > maxFileNameBytes || Buffer.byteLength(name) > maxFileNameBytes)
    return `it is longer than ${maxFileNameBytes} bytes`
  if (!name.isWellFormed()) return 'it contains half a surrogate pair'
  if (refusedCharacters.test(name)) return 'it contains a backslash, a control character or a mark of text direction'
  if (toNfc(name) !== name) return 'it is not in the Unicode form NFC'
  const segments = name.split('/')
  if (segments.includes('')) return 'it begins or ends with a slash, or has two slashes in a row'
  return segments.includes('.') || segments.includes('..') ? 'it contains a dot segment' : null
}
