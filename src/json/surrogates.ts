/** Replaces characters of external input that a store cannot keep. */
import type { JsonText } from './text.ts'

/**
 * Replaces lone surrogates with U+FFFD, because a store cannot keep them and other implementations cannot write them.
 * Stored form writes a lone surrogate as an escape.
 *
 * @returns the same text when it has no lone surrogate; otherwise JSON whose objects may contain a key twice.
 */
export function withoutLoneSurrogates(text: JsonText): string {
  if (!text.includes('\\ud')) return text
  return text.replace(/\\(?:u[0-9a-f]{4}|.)/g, (escape) => (/^\\ud[89a-f]/.test(escape) ? '\ufffd' : escape))
}

/** Replaces U+0000 and lone surrogates, which PostgreSQL does not accept, with U+FFFD. For strings that only people read. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
