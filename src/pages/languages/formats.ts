/** Numbers, lists, dates and plurals of one language, by `Intl`. Each formatter is made at its first use. */

export type TimeUnit = 'minute' | 'hour' | 'day'

export interface Formats {
  readonly number: (value: number) => string
  /** Returns the JSON text of a number as people write it in the language: `1.234,5` in German. Null for any other text. */
  readonly readNumber: (text: string) => string | null
  /** `1,5` in German for the JSON text `1.5`: with the same digits, and without groups. */
  readonly numberText: (json: string) => string
  /**
   * Returns a date that people write in the language, as `2026-12-24`. The year has four digits. Null for any other text, and
   * where another order of day and month would be another date: `3/4/2026` in English.
   */
  readonly readDate: (text: string) => string | null
  /** `a, b and c`. */
  readonly and: (items: readonly string[]) => string
  /** `a, b or c`. */
  readonly or: (items: readonly string[]) => string
  /** Chooses the form for a number, by the plural rules of the language. `other` is the form for the remaining numbers. */
  readonly plural: <T>(value: number, forms: PluralForms<T>) => T
  /** `3 minutes ago`, or `in 3 minutes` for a positive number. */
  readonly relative: (value: number, unit: TimeUnit) => string
  /** `22 Nov 2026`. @param timeZone Name in the IANA database. Default: `UTC`. */
  readonly date: (date: Date, timeZone?: string) => string
  /** `Sunday, 22 November 2026`. */
  readonly day: (date: Date, timeZone?: string) => string
  /** `22 Nov 2026, 07:08:37 UTC`. */
  readonly exact: (date: Date, timeZone?: string) => string
  /** `1 byte`, `640 bytes` or `2.5 MB`, in powers of 1024, as the limits of the service are set. */
  readonly size: (bytes: number) => string
}

export type PluralForms<T> = { readonly [Rule in Intl.LDMLPluralRule]?: T } & { readonly other: T }

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** @param tag BCP 47 tag, with the region whose dates the language uses: `en-GB`. */
export function formatsOf(tag: string): Formats {
  const lists = once((type: 'conjunction' | 'disjunction') => new Intl.ListFormat(tag, { type }))
  const numbers = once((_only: 'number') => new Intl.NumberFormat(tag))
  const marks = once((_only: 'marks') => marksOf(tag))
  const calendar = once((_only: 'calendar') => calendarOf(tag))
  const rules = once((_only: 'plural') => new Intl.PluralRules(tag))
  const times = once((_only: 'relative') => new Intl.RelativeTimeFormat(tag))
  const clocks = once((timeZone: string) => clockOf(tag, timeZone))
  const sizes = once(
    (key: `${(typeof units)[number]}/${0 | 1}`) =>
      new Intl.NumberFormat(tag, {
        style: 'unit',
        unit: key.slice(0, -2),
        unitDisplay: key.startsWith('byte') ? 'long' : 'short',
        maximumFractionDigits: Number(key.slice(-1)),
      }),
  )
  return {
    number: (value) => numbers('number').format(value),
    readNumber: (text) => readNumber(text, marks('marks')),
    numberText: (json) => json.replace('.', marks('marks').decimal),
    readDate: (text) => readDate(text, calendar('calendar')),
    and: (items) => lists('conjunction').format(items),
    or: (items) => lists('disjunction').format(items),
    plural: (value, forms) => forms[rules('plural').select(value)] ?? forms.other,
    relative: (value, unit) => times('relative').format(value, unit),
    date: (date, timeZone = 'UTC') => clocks(timeZone).date(date),
    day: (date, timeZone = 'UTC') => clocks(timeZone).day(date),
    exact: (date, timeZone = 'UTC') => clocks(timeZone).exact(date),
    size: (bytes) => {
      const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
      const size = bytes / 1024 ** power
      return sizes(`${units[power] ?? 'byte'}/${size < 10 && power > 0 ? 1 : 0}`).format(size)
    },
  }
}

/** The characters between the digits of a number. */
interface NumberMarks {
  readonly decimal: string
  /** The marks between groups of three digits: `.` in German, every kind of space where a language uses one. */
  readonly groups: string
}

/** Marks that people type for each other: spaces of three widths, and two apostrophes. */
const groupMarks = [' \u00a0\u202f', "'\u2019"] as const

function marksOf(tag: string): NumberMarks {
  const parts = new Intl.NumberFormat(tag, { numberingSystem: 'latn' }).formatToParts(-1_234_567.5)
  const markOf = (wanted: string): string => parts.find(({ type }) => type === wanted)?.value ?? ''
  const mark = markOf('group')
  return { decimal: markOf('decimal') || '.', groups: groupMarks.find((marks) => marks.includes(mark)) ?? mark }
}

function readNumber(text: string, { decimal, groups }: NumberMarks): string | null {
  const typed = text.trim().replace('\u2212', '-')
  const power = /[eE][+-]?\d{1,9}$/.exec(typed)?.[0] ?? ''
  const [whole = '', ...fractions] = typed.slice(0, typed.length - power.length).split(decimal)
  const [fraction] = fractions
  if (fractions.length > 1 || (fraction !== undefined && !/^\d+$/.test(fraction))) return null
  const digits = withoutGroups(whole, groups)
  // People leave out the zero before the decimal mark.
  const integer = fraction !== undefined && /^-?$/.test(digits) ? `${digits}0` : digits
  if (!/^-?(?:0|[1-9]\d*)$/.test(integer)) return null
  const json = `${integer}${fraction === undefined ? '' : `.${fraction}`}${power}`
  return Number.isFinite(Number(json)) ? json : null
}

/** Joins groups of three digits. Any other text stays as it is. */
function withoutGroups(text: string, marks: string): string {
  let parts = [text]
  for (const mark of marks) parts = parts.flatMap((part) => part.split(mark))
  const [first = '', ...others] = parts
  const isGrouped = /^-?[1-9]\d{0,2}$/.test(first) && others.every((part) => /^\d{3}$/.test(part))
  return isGrouped ? parts.join('') : text
}

interface Calendar {
  /** The names of the months in lower case, long and short, from January on. */
  readonly months: readonly (readonly string[])[]
  readonly isDayFirst: boolean
  /** Whether countries with this language write day and month in different orders. */
  readonly isDivided: boolean
}

function calendarOf(tag: string): Calendar {
  const names = (['long', 'short'] as const).map(
    (month) => new Intl.DateTimeFormat(tag, { month, day: 'numeric', timeZone: 'UTC', calendar: 'gregory' }),
  )
  const nameIn = (format: Intl.DateTimeFormat, month: number): string =>
    wordsOf(format.formatToParts(Date.UTC(2026, month, 1)).find(({ type }) => type === 'month')?.value ?? '').join(' ')
  const months = Array.from({ length: 12 }, (_, month) => names.map((format) => nameIn(format, month)))
  const order = new Intl.DateTimeFormat(tag, { dateStyle: 'short', timeZone: 'UTC' }).formatToParts(0)
  const placeOf = (wanted: string): number => order.findIndex(({ type }) => type === wanted)
  return { months, isDayFirst: placeOf('day') < placeOf('month'), isDivided: tag.startsWith('en') }
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s.,/]+/)
    .filter((word) => word !== '')
}

function readDate(text: string, calendar: Calendar): string | null {
  const typed = text.trim()
  const { year = '', month = '', day = '' } = isoDate.exec(typed)?.groups ?? {}
  return year === '' ? readWords(typed, calendar) : dateOf(year, month, day)
}

const isoDate = /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})$/

function readWords(typed: string, { months, isDayFirst, isDivided }: Calendar): string | null {
  const [first = '', second = '', year = '', ...others] = wordsOf(typed)
  if (others.length > 0 || !/^\d{4}$/.test(year)) return null
  // People shorten names in other places than Intl does: "Sep" for "Sept".
  const isNamed = (names: readonly string[], word: string): boolean =>
    names.includes(word) || (word.length >= 3 && names.some((name) => name.startsWith(word)))
  const monthOf = (word: string): number => months.findIndex((names) => isNamed(names, word)) + 1
  if (monthOf(second) > 0) return dateOf(year, String(monthOf(second)), first)
  if (monthOf(first) > 0) return dateOf(year, String(monthOf(first)), second)
  const [day, month] = isDayFirst ? [first, second] : [second, first]
  const [expected, other] = [dateOf(year, month, day), dateOf(year, day, month)]
  if (!isDivided || other === null || other === expected) return expected
  return expected === null ? other : null
}

/** Null when the calendar does not have the day. */
function dateOf(year: string, month: string, day: string): string | null {
  if (!/^\d{1,2}$/.test(month) || !/^\d{1,2}$/.test(day)) return null
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  const ms = Date.parse(`${iso}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(iso) ? iso : null
}

type Clock = Pick<Formats, 'date' | 'day' | 'exact'>

function clockOf(tag: string, timeZone: string): Clock {
  const medium = new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeZone })
  const full = new Intl.DateTimeFormat(tag, { dateStyle: 'full', timeZone })
  const seconds = new Intl.DateTimeFormat(tag, {
    dateStyle: 'medium',
    timeStyle: 'medium',
    hourCycle: 'h23',
    timeZone,
  })
  const named = new Intl.DateTimeFormat(tag, { timeZone, timeZoneName: 'short' })
  const zoneAt = (date: Date): string =>
    named.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
  return {
    date: (date) => medium.format(date),
    day: (date) => full.format(date),
    exact: (date) => `${seconds.format(date)} ${zoneAt(date)}`,
  }
}

/** Bounds the memory for the formatters of all time zones. */
const maxRemembered = 50

/** Remembers what `make` returned for a key. */
function once<Key, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new Map<Key, Made>()
  return (key) => {
    const before = made.get(key)
    if (before !== undefined) return before
    if (made.size >= maxRemembered) made.clear()
    const now = make(key)
    made.set(key, now)
    return now
  }
}
