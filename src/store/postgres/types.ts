/** Type parsers that match SQLite: numbers for integers and booleans, strings for everything else. */
import pg from 'pg'

const INT8 = 20
const NUMERIC = 1700
const BOOL = 16
const JSON_TEXT = 114
const JSONB = 3802

function exact(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new RangeError(`Value is too large to be represented as a JavaScript number: ${text}`)
  return value
}

const parsers = new Map<number, (text: string) => unknown>([
  [INT8, exact],
  [NUMERIC, exact],
  [BOOL, (text) => (text === 't' ? 1 : 0)],
  [JSON_TEXT, (text) => text],
  [JSONB, (text) => text],
])

export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary'): unknown =>
    (format === 'binary' ? undefined : parsers.get(oid)) ??
    pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}
