/** How the Python library stores values: as text, which is JSON when it can be parsed as JSON. */
import { type JsonText, normalize, storableText, stringText } from '../json/json.ts'

/** The most nested containers of a value that the service stores. */
const deepest = 512

/** The value of a text. A text that is not JSON is a string. */
export function valueOfText(text: string): JsonText {
  try {
    return normalize(text, deepest, 'replace')
  } catch {
    return stringText(storableText(text))
  }
}

/** The object of a JSON text, or null for another value. */
export function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null
  } catch {
    return null
  }
}

/** A non-empty text of a row, or null. */
export function textInRow(row: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = row[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/** A time of a row in Unix milliseconds. The library stores UTC without a zone. Null: none. */
export function timeInRow(row: Readonly<Record<string, unknown>>, name: string): number | null {
  const text = textInRow(row, name)
  if (text === null) return null
  const ms = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`)
  return Number.isNaN(ms) ? null : ms
}

/** A time of a row that is a number of seconds, in Unix milliseconds. */
export function secondsInRow(row: Readonly<Record<string, unknown>>, name: string): number | null {
  const value = row[name]
  return typeof value === 'number' && Number.isFinite(value) ? Math.floor(value * 1000) : null
}
