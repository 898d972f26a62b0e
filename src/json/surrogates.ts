/** Characters of external input that a store cannot keep. */
import { ServiceError } from '../errors.ts'
import type { JsonText } from './text.ts'

/** @param where the beginning of the sentence, with its verb. */
export function halfPair(where: string): ServiceError {
  return new ServiceError(
    'invalid_value',
    `${where} half of a surrogate pair, such as \\ud83d alone: send the whole character`,
  )
}

/** Whether stored form has a lone surrogate, which it writes as an escape. */
export function hasLoneSurrogate(text: JsonText): boolean {
  if (!text.includes('\\ud')) return false
  return text.match(/\\(?:u[0-9a-f]{4}|.)/g)?.some((escape) => /^\\ud[89a-f]/.test(escape)) ?? false
}

/** Replaces U+0000 and lone surrogates, which PostgreSQL does not accept, with U+FFFD. For strings that only people read. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
