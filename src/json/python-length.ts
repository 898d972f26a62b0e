/** Computes the length of a value as ActingWeb defines it (`total_bytes`, WIRE-HTTP-02). */
import type { JsonText } from './text.ts'

/**
 * The number of characters that Python's `json.dumps` writes by default: `", "` and `": "` as separators, and
 * `\uXXXX` for each UTF-16 unit outside printable ASCII. Numbers count as stored.
 */
export function pythonLength(text: JsonText): number {
  let length = text.length
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 0x5c) at++
      else if (code === 0x22) inString = false
      else if (code > 0x7e) length += 5
    } else if (code === 0x22) {
      inString = true
    } else if (code === 0x2c || code === 0x3a) {
      length++
    }
  }
  return length
}
