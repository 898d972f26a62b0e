/** Translates the shared SQL for a database. `store.ts` describes the notation. */
export type Dialect = 'sqlite' | 'postgres'

export interface Compiled {
  readonly text: string
  /** Number of parameters: the highest `n` of `$n`. */
  readonly parameters: number
}

/** The notation, in the order of recognition. Quoted strings and comments come first and stay unchanged. */
const NOTATION = new RegExp(
  [
    String.raw`'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*`,
    String.raw`/\*(?:(?<only>sqlite|postgres):)?(?<content>[\s\S]*?)\*/`,
    String.raw`\brows\(\s*\$(?<rows>\d+)\s*,(?<columns>[^()]*)\)`,
    String.raw`\bIN ARRAY (?<array>\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))`,
    String.raw`(?<rowLock>\bFOR (?:UPDATE|KEY SHARE)(?: OF \w+(?:, \w+)*)?(?: SKIP LOCKED)?\b)`,
    String.raw`\$(?<parameter>\d+)`,
    String.raw`(?<word>\bBIGINT\b|\bTEXT_KEY\b)`,
    String.raw`(?<options>(?<=\))\s+STRICT(?:,\s*WITHOUT\s+ROWID)?(?=\s*(?:;|$)))`,
  ].join('|'),
  'g',
)

type Groups = Readonly<Record<string, string | undefined>>

const WORDS: Readonly<Record<Dialect, Readonly<Record<string, string>>>> = {
  sqlite: { BIGINT: 'INTEGER', TEXT_KEY: 'TEXT' },
  postgres: { TEXT_KEY: 'TEXT COLLATE "C"' },
}

/** @throws Error when `rows(…)` declares a column of a type other than BIGINT or TEXT. */
export function compile(sql: string, dialect: Dialect): Compiled {
  let parameters = 0
  const parameter = (digits: string): string => {
    parameters = Math.max(parameters, Number(digits))
    return dialect === 'sqlite' ? `?${digits}` : `$${digits}`
  }
  const isSqlite = dialect === 'sqlite'
  const translate = (part: string): string =>
    part.replace(NOTATION, (found: string, ...rest: unknown[]) => {
      const { only, content, rows, columns, array, rowLock, ...other } = rest.at(-1) as Groups
      if (other['parameter'] !== undefined) return parameter(other['parameter'])
      if (other['word'] !== undefined) return WORDS[dialect][found] ?? found
      if (other['options'] !== undefined) return isSqlite ? found : ''
      if (rows !== undefined) return table(parameter(rows), columns ?? '', dialect)
      if (array !== undefined) return isSqlite ? `IN ${translate(array)}` : `= ANY (ARRAY ${translate(array)})`
      if (rowLock !== undefined) return isSqlite ? '' : found
      if (only !== undefined) return only === dialect ? translate((content ?? '').trim()) : ''
      return found
    })
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
