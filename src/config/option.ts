/** Kinds of options: how a value is parsed and checked, and what the documents say about it. */
export type Mode = 'development' | 'production'

/** Options by their names in code. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>

/** The values of options. */
export type ConfigOf<Table> = { readonly [K in keyof Table]: Table[K] extends Option<infer T> ? T : never }

export interface Option<T> {
  readonly env: string
  /** Parses the string of the environment variable; throws an Error whose message completes "<NAME> …". */
  readonly parse: (text: string) => T
  /** Validates a value given in code; throws like `parse`. */
  readonly check: (value: unknown) => T
  readonly byDefault: T | ((mode: Mode) => T)
  readonly values: string
  readonly text: string
  /** Description of the default, where the value alone does not explain it. */
  readonly defaultText?: string
  readonly secret?: boolean
  /** True when an empty string in the environment is a value instead of an absent setting. */
  readonly readsEmpty?: boolean
}

/** The members of every kind of option. */
export interface AboutOption<T> {
  readonly env: string
  readonly byDefault: T | ((mode: Mode) => T)
  readonly text: string
  readonly values?: string
  readonly defaultText?: string
  readonly secret?: boolean
}

function option<T>(
  about: AboutOption<T>,
  values: string,
  read: (value: unknown) => T,
  parse?: (text: string) => T,
): Option<T> {
  return { values, ...about, check: read, parse: parse ?? ((text) => read(text)) }
}

function integer(about: AboutOption<number> & { min: number; max: number; unit?: string }): Option<number> {
  const values = `whole number from ${about.min} to ${about.max}${about.unit === undefined ? '' : `, in ${about.unit}`}`
  const read = (value: unknown): number => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < about.min || value > about.max) {
      throw new Error(`must be a ${values}`)
    }
    return value
  }
  return option(about, values, read, (text) => read(/^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN))
}

/** A number whose default depends on the machine. In code, null is that default. */
function optionalInteger(
  about: AboutOption<null> & { min: number; max: number; unit?: string },
): Option<number | null> {
  const base = integer({ ...about, byDefault: about.min })
  return { ...base, byDefault: about.byDefault, check: (value) => (value === null ? null : base.check(value)) }
}

function flag(about: AboutOption<boolean>): Option<boolean> {
  const values = '1 or 0 (also true, false, on, off, yes, no)'
  return option(
    about,
    values,
    (value) => {
      if (typeof value !== 'boolean') throw new Error('must be true or false')
      return value
    },
    (text) => {
      const word = text.trim().toLowerCase()
      if (['1', 'true', 'on', 'yes'].includes(word)) return true
      if (['0', 'false', 'off', 'no'].includes(word)) return false
      throw new Error(`must be ${values}`)
    },
  )
}

/** A flag whose default depends on other settings. In code, null is that default. */
function optionalFlag(about: AboutOption<null>): Option<boolean | null> {
  const base = flag({ ...about, byDefault: false })
  return { ...base, byDefault: about.byDefault, check: (value) => (value === null ? null : base.check(value)) }
}

function choice<const C extends string>(about: AboutOption<C> & { choices: readonly C[] }): Option<C> {
  const values = about.choices.join(', ')
  return option(about, values, (value) => {
    const found = about.choices.find((name) => name === value)
    if (found === undefined) throw new Error(`must be one of ${values}`)
    return found
  })
}

function text<T extends string | null>(
  about: AboutOption<T>,
  check: (value: string) => string | null = () => null,
): Option<T> {
  return option(about, 'string', (value) => {
    if (value === null && about.byDefault === null) return value as T
    if (typeof value !== 'string') throw new Error('must be a string')
    const complaint = check(value)
    if (complaint !== null) throw new Error(complaint)
    return value as T
  })
}

function words(about: AboutOption<readonly string[]>): Option<readonly string[]> {
  const read = (value: unknown): readonly string[] => {
    const isNames = Array.isArray(value) && value.every((word: unknown) => typeof word === 'string' && word !== '')
    if (!isNames) throw new Error('must be a list of names')
    return [...(value as readonly string[])]
  }
  const split = (list: string): string[] =>
    list
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '')
  return {
    ...option(about, 'names separated by commas; empty for none', read, (list) => read(split(list))),
    readsEmpty: true,
  }
}

/** A list whose names are checked. @param complaint Says why a name is wrong; null for a valid one. */
function checkedWords(
  about: AboutOption<readonly string[]>,
  values: string,
  complaint: (name: string) => string | null,
): Option<readonly string[]> {
  const list = words(about)
  const check = (names: readonly string[]): readonly string[] => {
    for (const name of names) {
      const wrong = complaint(name)
      if (wrong !== null) throw new Error(wrong)
    }
    return names
  }
  return { ...list, values, check: (value) => check(list.check(value)), parse: (text) => check(list.parse(text)) }
}

/** Makes options of each kind. @experimental */
export const optionKinds = {
  integer,
  optionalInteger,
  flag,
  optionalFlag,
  choice,
  text,
  words,
  checkedWords,
  option,
} as const
