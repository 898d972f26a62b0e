/**
 * Finds the mutants of a source file: small faults, each a place and its replacement. Comments and strings stay unchanged,
 * except conditions in SQL.
 */

export interface Mutant {
  /** Position in the file, in characters. */
  readonly at: number
  readonly length: number
  readonly text: string
  readonly kind: string
  /** Line number, counted from 1. */
  readonly line: number
  readonly column: number
}

type Found = Pick<Mutant, 'at' | 'length' | 'text' | 'kind'>

const swaps: readonly (readonly [pattern: RegExp, to: Readonly<Record<string, string>>, kind: string])[] = [
  [/(?<=\s)(?:===|!==)(?=\s)/g, { '===': '!==', '!==': '===' }, 'equality'],
  [/(?<= )(?:<=|>=|<|>)(?= )/g, { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }, 'bound'],
  [/(?<=\s)(?:&&|\|\|)(?=\s)/g, { '&&': '||', '||': '&&' }, 'connective'],
  [/(?<=\s)\?\?(?=\s)/g, { '??': '&&' }, 'default'],
  [/(?<![\w.$'-])(?:true|false)\b(?!\s*[|}>])/g, { true: 'false', false: 'true' }, 'boolean'],
  [/\.(?:some|every)(?=\()/g, { '.some': '.every', '.every': '.some' }, 'quantifier'],
  [/(?<=[\s(!])!(?=[\w(])/g, { '!': '' }, 'negation'],
]

/** Replacements in SQL. */
const sqlSwaps: typeof swaps = [
  [/(?<= )(?:<=|>=|<|>)(?= )/g, { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }, 'SQL bound'],
  [/(?<= )(?:IS NOT NULL|IS NULL)\b/g, { 'IS NOT NULL': 'IS NULL', 'IS NULL': 'IS NOT NULL' }, 'SQL null'],
]

const large = 10_000

/** Lines without executable code: declarations without a body, and types. */
const withoutCode = /^\s*(?:import\b|export (?:type|\*|\{)|type\b|export type\b|readonly\b|\||\/\/|\/?\*)/

/** Returns all mutants in the order of their places. The caller drops those that are not valid TypeScript. */
export function mutantsOf(source: string): Mutant[] {
  const { code, texts } = masked(source)
  const inTypes = typeLines(code)
  const found = [
    ...swaps.flatMap(([pattern, to, kind]) => swapped(code, pattern, to, kind)),
    ...negatedConditions(code, source),
    ...withoutThrow(code),
    ...withoutStatement(code),
    ...otherNumbers(code),
    ...texts.filter(isSql).flatMap((text) => sqlMutants(text)),
  ]
  const starts = lineStarts(source)
  return found
    .map((each) => {
      const line = starts.findLastIndex((start) => start <= each.at)
      return { ...each, line: line + 1, column: each.at - (starts[line] ?? 0) + 1 }
    })
    .filter(({ line, kind }) => kind.startsWith('SQL') || !inTypes.has(line))
    .toSorted((one, other) => one.at - other.at || one.kind.localeCompare(other.kind))
}

export function applied(source: string, { at, length, text }: Mutant): string {
  return source.slice(0, at) + text + source.slice(at + length)
}

interface Text {
  readonly at: number
  readonly text: string
}

/** Returns the source with spaces in place of comments and strings. Code inside templates stays. */
function masked(source: string): { readonly code: string; readonly texts: readonly Text[] } {
  const code = source.split('')
  const texts: Text[] = []
  const blank = (from: number, to: number): void => {
    for (let index = from; index < to; index += 1) if (code[index] !== '\n') code[index] = ' '
  }
  /** Brace depths at which the code of a template began. */
  const depths: number[] = []
  let depth = 0
  let index = 0
  const template = (): void => {
    const from = index
    while (index < source.length && source[index] !== '`') {
      if (source[index] === '\\') index += 1
      else if (source.startsWith('${', index)) {
        texts.push({ at: from, text: source.slice(from, index) })
        blank(from, index)
        index += 2
        depths.push(depth)
        return
      }
      index += 1
    }
    texts.push({ at: from, text: source.slice(from, index) })
    blank(from, index)
    index += 1
  }
  while (index < source.length) {
    const here = source[index] ?? ''
    if (source.startsWith('//', index) || source.startsWith('/*', index)) {
      const end =
        here + (source[index + 1] ?? '') === '//' ? source.indexOf('\n', index) : source.indexOf('*/', index) + 2
      const to = end < index + 2 ? source.length : end
      blank(index, to)
      index = to
    } else if (here === "'" || here === '"') {
      const from = index + 1
      index = from
      while (index < source.length && source[index] !== here) index += source[index] === '\\' ? 2 : 1
      texts.push({ at: from, text: source.slice(from, index) })
      blank(from, index)
      index += 1
    } else if (here === '`') {
      index += 1
      template()
    } else if (here === '/' && /[(,=:[!&|?{}\n]\s*$/.test(code.slice(Math.max(0, index - 8), index).join(''))) {
      const from = index + 1
      index = from
      let isInClass = false
      while (index < source.length && (isInClass || source[index] !== '/')) {
        if (source[index] === '[') isInClass = true
        if (source[index] === ']') isInClass = false
        index += source[index] === '\\' ? 2 : 1
      }
      blank(from, index)
      index += 1
    } else if (here === '{') {
      depth += 1
      index += 1
    } else if (here === '}' && depths.at(-1) === depth) {
      depths.pop()
      index += 1
      template()
    } else {
      if (here === '}') depth -= 1
      index += 1
    }
  }
  return { code: code.join(''), texts }
}

function swapped(code: string, pattern: RegExp, to: Readonly<Record<string, string>>, kind: string): Found[] {
  return [...code.matchAll(pattern)].map(({ index, 0: what }) => ({
    at: index,
    length: what.length,
    text: to[what] ?? what,
    kind,
  }))
}

function negatedConditions(code: string, source: string): Found[] {
  return [...code.matchAll(/\b(?:if|while) \(/g)].flatMap(({ index, 0: what }) => {
    const from = index + what.length
    const end = closing(code, from - 1)
    // The fault `negation` covers a condition that is already negated.
    if (end === null || code[from] === '!') return []
    return [{ at: from, length: end - from, text: `!(${source.slice(from, end)})`, kind: 'condition' }]
  })
}

function withoutThrow(code: string): Found[] {
  return [...code.matchAll(/\bthrow (?!undefined)/g)].flatMap(({ index }) => {
    const end = statementEnd(code, index)
    return end === null ? [] : [{ at: index, length: end - index, text: '{}', kind: 'throw' }]
  })
}

/** Removes a call or an assignment that is a statement of its own. */
function withoutStatement(code: string): Found[] {
  return [...code.matchAll(/^[ \t]+(?=(?:await |void )?(?:this\.#)?\w[\w.#?]*(?:\(| \+?= )(?!.*=>\s*\{$))/gm)].flatMap(
    ({ index, 0: indent }) => {
      const at = index + indent.length
      const before = code.slice(0, index).trimEnd().at(-1) ?? ''
      const isStatement = '{};'.includes(before) || /[\w)\]'`]/.test(before)
      const end = statementEnd(code, at)
      const after = end === null ? '' : (code.slice(end).trimStart()[0] ?? '')
      if (!isStatement || end === null || ',.?:&|+)]'.includes(after)) return []
      const statement = code.slice(at, end)
      if (/^(?:return|throw|if|for|while|const|let|case|default|super)\b/.test(statement)) return []
      // Skips definitions of methods and fields, and constructors that store their arguments.
      if (/^#|\{[^}]*$/.test(statement.split('\n')[0] ?? '') && /^#|\)(?:: [^=]+)? \{/.test(statement)) return []
      if (/^(?:this\.#\w+\.)?log\.|^this\.#log\./.test(statement)) return []
      if (/^this\.#(\w+) = (?:\1|parts|options)$/.test(statement)) return []
      return [{ at, length: end - at, text: '', kind: 'statement' }]
    },
  )
}

/** Increments numbers, and doubles large ones: tests do not notice a difference of one in times and sizes. */
function otherNumbers(code: string): Found[] {
  return [...code.matchAll(/(?<![\w$.#-]|\| )\d[\d_]*(?![\w.']| \|)/g)].flatMap(({ index, 0: what }) => {
    const value = Number(what.replaceAll('_', ''))
    return [{ at: index, length: what.length, text: String(value < large ? value + 1 : value * 2), kind: 'number' }]
  })
}

function isSql({ text }: Text): boolean {
  return /\b(?:SELECT|UPDATE|DELETE FROM|INSERT INTO|WHERE|AND|ON CONFLICT)\b/.test(text)
}

function sqlMutants({ at, text }: Text): Found[] {
  const conditions = [
    ...text.matchAll(/\bAND (?:[^\s()']+ (?:=|<>|<=|>=|<|>|IN|IS) (?:NULL|NOT NULL|\([^()]*\)|[^\s()]+))(?=\s|\)|$)/g),
  ].map(({ index, 0: what }) => ({ at: at + index, length: what.length, text: '', kind: 'SQL condition' }))
  const bounds = sqlSwaps.flatMap(([pattern, to, kind]) =>
    swapped(text, pattern, to, kind).map((each) => ({ ...each, at: at + each.at })),
  )
  return [...conditions, ...bounds]
}

/** Returns the index of the bracket that closes the bracket at `from`. */
function closing(code: string, from: number): number | null {
  let depth = 0
  for (let index = from; index < code.length; index += 1) {
    if ('([{'.includes(code[index] ?? ' ')) depth += 1
    if (')]}'.includes(code[index] ?? ' ')) depth -= 1
    if (depth === 0) return index
  }
  return null
}

/** Returns the end of the statement at `from`: the end of a line without open brackets that the next line does not continue. */
function statementEnd(code: string, from: number): number | null {
  let depth = 0
  for (let index = from; index < code.length; index += 1) {
    const here = code[index] ?? ''
    if ('([{'.includes(here)) depth += 1
    if (')]}'.includes(here)) depth -= 1
    if (depth < 0) return index
    const goesOn = /^\s*(?:[.?:&|+*]|=>)/.test(code.slice(index + 1, index + 80))
    if (here === '\n' && depth === 0 && !goesOn && !/(?:[=(,?:&|+]|=>)\s*$/.test(code.slice(from, index))) return index
  }
  return null
}

/** Returns the lines of interfaces and types, which contain no executable code. */
function typeLines(code: string): ReadonlySet<number> {
  const lines = code.split('\n')
  const found = new Set<number>()
  let isInside = false
  for (const [index, line] of lines.entries()) {
    if (/^(?:export )?(?:interface|type|declare)\b/.test(line)) isInside = true
    if (isInside || withoutCode.test(line)) found.add(index + 1)
    if (isInside && (line.startsWith('}') || (/^(?:export )?type\b/.test(line) && !/[={|<(,]\s*$/.test(line))))
      isInside = false
    if (isInside && line.trim() === '') isInside = false
  }
  return found
}

function lineStarts(source: string): readonly number[] {
  return [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)]
}
