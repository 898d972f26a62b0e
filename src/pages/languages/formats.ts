/** Numbers, lists, dates and plurals of one language, by `Intl`. Each formatter is made at its first use. */

export type TimeUnit = 'minute' | 'hour' | 'day'

export interface Formats {
  readonly number: (value: number) => string
  /** `a, b and c`. */
  readonly and: (items: readonly string[]) => string
  /** `a, b or c`. */
  readonly or: (items: readonly string[]) => string
  /** Chooses the form for a number, by the plural rules of the language. `other` is the form for the remaining numbers. */
  readonly plural: <T>(value: number, forms: PluralForms<T>) => T
  /** `3 minutes ago`, or `in 3 minutes` for a positive number. */
  readonly relative: (value: number, unit: TimeUnit) => string
  /** `22 Nov 2026`, in UTC. */
  readonly date: (date: Date) => string
  /** `Sunday, 22 November 2026`, in UTC. */
  readonly day: (date: Date) => string
  /** `22 Nov 2026, 07:08:37 UTC`. */
  readonly exact: (date: Date) => string
  /** `1 byte`, `640 bytes` or `2.5 MB`, in powers of 1024, as the limits of the service are set. */
  readonly size: (bytes: number) => string
}

export type PluralForms<T> = { readonly [Rule in Intl.LDMLPluralRule]?: T } & { readonly other: T }

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** @param tag BCP 47 tag, with the region whose dates the language uses: `en-GB`. */
export function formatsOf(tag: string): Formats {
  const lists = once((type: 'conjunction' | 'disjunction') => new Intl.ListFormat(tag, { type }))
  const dates = once((style: 'medium' | 'full') => new Intl.DateTimeFormat(tag, { dateStyle: style, timeZone: 'UTC' }))
  const numbers = once((_only: 'number') => new Intl.NumberFormat(tag))
  const rules = once((_only: 'plural') => new Intl.PluralRules(tag))
  const times = once((_only: 'relative') => new Intl.RelativeTimeFormat(tag))
  const clock = once(
    (_only: 'clock') =>
      new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23', timeZone: 'UTC' }),
  )
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
    and: (items) => lists('conjunction').format(items),
    or: (items) => lists('disjunction').format(items),
    plural: (value, forms) => forms[rules('plural').select(value)] ?? forms.other,
    relative: (value, unit) => times('relative').format(value, unit),
    date: (date) => dates('medium').format(date),
    day: (date) => dates('full').format(date),
    exact: (date) => `${clock('clock').format(date)} UTC`,
    size: (bytes) => {
      const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
      const size = bytes / 1024 ** power
      return sizes(`${units[power] ?? 'byte'}/${size < 10 && power > 0 ? 1 : 0}`).format(size)
    },
  }
}

/** Remembers what `make` returned for a key. */
function once<Key, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new Map<Key, Made>()
  return (key) => {
    const before = made.get(key)
    if (before !== undefined) return before
    const now = make(key)
    made.set(key, now)
    return now
  }
}
