/** Characters from elsewhere that a store cannot keep. */
import type { JsonText } from './text.ts'

/**
 * What no store can keep, and no other implementation can write: half a surrogate pair becomes U+FFFD. The text is in
 * stored form, where such a half is always an escape.
 *
 * @returns the text itself when there is none; otherwise a text whose objects may name a key twice.
 */
export function withoutLoneSurrogates(text: JsonText): string {
  if (!text.includes('\\ud')) return text
  return text.replace(/\\(?:u[0-9a-f]{4}|.)/g, (escape) => (/^\\ud[89a-f]/.test(escape) ? '\ufffd' : escape))
}

/** Replaces U+0000 and lone surrogates, which PostgreSQL does not accept, with U+FFFD. For strings that only people read. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
