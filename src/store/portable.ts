/** Translates the one text of SQL into what a database reads; `store.ts` describes the notation. */
export type Dialect = 'sqlite' | 'postgres'

export interface Compiled {
  readonly text: string
  /** The highest `n` of `$n`: how many parameters the statement takes. */
  readonly parameters: number
}

/**
 * The notation, in order: quoted text and comments (left alone), markers, `rows(…)`, `$n`, the types that differ, and the
 * options of a table.
 */
const NOTATION =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*(?:(sqlite|postgres):)?([\s\S]*?)\*\/|\brows\(\s*\$(\d+)\s*,([^()]*)\)|\$(\d+)|\bBIGINT\b|\bTEXT_KEY\b|(?<=\)) STRICT(?:, WITHOUT ROWID)?(?=;|$)/g

/** `BIGINT` is missing in STRICT tables of SQLite. `TEXT_KEY` is text that is compared byte by byte. */
const WORDS: Readonly<Record<Dialect, Readonly<Record<string, string>>>> = {
  sqlite: { BIGINT: 'INTEGER', TEXT_KEY: 'TEXT' },
  postgres: { TEXT_KEY: 'TEXT COLLATE "C"', ' STRICT': '', ' STRICT, WITHOUT ROWID': '' },
}

/** @throws Error when `rows(…)` declares a column of a type other than BIGINT or TEXT. */
export function compile(sql: string, dialect: Dialect): Compiled {
  let parameters = 0
  const parameter = (digits: string): string => {
    parameters = Math.max(parameters, Number(digits))
    return dialect === 'sqlite' ? `?${digits}` : `$${digits}`
  }
  const translate = (part: string): string =>
    part.replace(
      NOTATION,
      (found: string, only?: string, content?: string, rowsOf?: string, columns?: string, number?: string) => {
        if (number !== undefined) return parameter(number)
        if (rowsOf !== undefined) return table(parameter(rowsOf), columns ?? '', dialect)
        if (only !== undefined) return only === dialect ? translate((content ?? '').trim()) : ''
        return WORDS[dialect][found] ?? found
      },
    )
  return { text: translate(sql), parameters }
}

function table(parameter: string, declarations: string, dialect: Dialect): string {
  const columns = declarations.split(',').map((declaration, index) => {
    const column = /^\s*(\w+)\s+(BIGINT|TEXT)\s*$/.exec(declaration)
    if (column === null)
      throw new Error(`Cannot translate rows(…): "${declaration.trim()}" is not a BIGINT or TEXT column`)
    if (dialect === 'sqlite') return `value->>'$[${index}]' AS ${column[1]}`
    return column[2] === 'BIGINT'
      ? `(item->>${index})::BIGINT AS ${column[1]}`
      : `(item->>${index}) COLLATE "C" AS ${column[1]}`
  })
  return dialect === 'sqlite'
    ? `(SELECT ${columns.join(', ')} FROM json_each(${parameter}))`
    : `(SELECT ${columns.join(', ')} FROM jsonb_array_elements(${parameter}::jsonb) AS elements (item))`
}
