/** Compares the answers of two services to the same read. */
import { lengthInWords, described, shownName, shownPath } from './redacted.ts'

/** An answer, with what matters to a caller. */
export interface Answer {
  readonly status: number
  /** The media type without parameters. Empty: none. */
  readonly type: string
  /** The target of a redirect or of a new resource. Empty: none. */
  readonly location: string
  readonly body: string
}

/** The media type of a Content-Type without its parameters. Empty: none. */
export function mediaTypeOf(header: string | null | undefined): string {
  return (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** The origins of the two services. Each is replaced by the same word, because links contain them. */
export interface Compared {
  readonly origins: readonly string[]
  /** Members of JSON objects that may differ. */
  readonly ignored: ReadonlySet<string>
}

/** Describes the first difference. Null: the answers are equal. Pages may have other text, but not another status. */
export function differenceOf(old: Answer, now: Answer, compared: Compared): string | null {
  if (old.status !== now.status) return `status ${old.status} became ${now.status}`
  const [before, after] = [withoutOrigin(old.location, compared), withoutOrigin(now.location, compared)]
  if (before !== after) return `location ${changeOf(shownPath(before), shownPath(after), 'became')}`
  const texts = [withoutOrigin(old.body, compared), withoutOrigin(now.body, compared)] as const
  // An error is for a person to read, unless it has a body for programs at both services.
  if (old.status >= 400 && texts.some((text) => text.trim() === '')) return null
  if (old.type === 'text/html' && now.type === 'text/html') return null
  const values = texts.map(jsonOf)
  const [one, other] = values
  if (one === undefined || other === undefined || one === null || other === null)
    return texts[0] === texts[1] ? null : `body ${changeOf(bodyOf(old, texts[0]), bodyOf(now, texts[1]), 'became')}`
  return valueDifference(one.value, other.value, '', compared.ignored)
}

function withoutOrigin(text: string, { origins }: Compared): string {
  return origins.reduce((rest, origin) => rest.replaceAll(origin, '{service}'), text)
}

function jsonOf(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text, exactNumber) as unknown }
  } catch {
    return null
  }
}

/** Large integers differ only in digits that a double does not have. */
function exactNumber(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  const { source } = context ?? {}
  if (typeof value !== 'number' || source === undefined) return value
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(source) ? value : BigInt(source)
}

type Ignored = ReadonlySet<string>

function valueDifference(old: unknown, now: unknown, place: string, ignored: Ignored): string | null {
  if (isObject(old) && isObject(now)) return objectDifference(old, now, place, ignored)
  if (Array.isArray(old) && Array.isArray(now)) return arrayDifference(old, now, place, ignored)
  if (Object.is(old, now) || isSameTime(old, now)) return null
  return `${place === '' ? 'the value' : place} was ${changeOf(described(old), described(now), 'and is')}`
}

type Members = Readonly<Record<string, unknown>>

function objectDifference(old: Members, now: Members, place: string, ignored: Ignored): string | null {
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (ignored.has(name)) continue
    const shown = shownName(name)
    const at = place === '' ? shown : `${place}.${shown}`
    if (!Object.hasOwn(now, name)) return `${at} is missing; it was ${described(old[name])}`
    if (!Object.hasOwn(old, name)) return `${at} is new: ${described(now[name])}`
    const found = valueDifference(old[name], now[name], at, ignored)
    if (found !== null) return found
  }
  return null
}

function arrayDifference(
  old: readonly unknown[],
  now: readonly unknown[],
  place: string,
  ignored: Ignored,
): string | null {
  if (old.length !== now.length) return `${place}[] has ${now.length} instead of ${old.length} items`
  if (isReordered(old, now)) return `${place}[] has another order`
  for (const [at, item] of old.entries()) {
    const found = valueDifference(item, now[at], `${place}[${at}]`, ignored)
    if (found !== null) return found
  }
  return null
}

function isReordered(old: readonly unknown[], now: readonly unknown[]): boolean {
  const [before, after] = [old.map(textOf), now.map(textOf)]
  if (before.every((text, at) => text === after[at])) return false
  const [ascending, others] = [before.toSorted(), after.toSorted()]
  return ascending.every((text, at) => text === others[at])
}

/** Services write times with other precisions. Milliseconds count. */
function isSameTime(old: unknown, now: unknown): boolean {
  const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/
  if (typeof old !== 'string' || typeof now !== 'string' || !time.test(old) || !time.test(now)) return false
  return Date.parse(old) === Date.parse(now)
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
}

function bodyOf({ type }: Answer, text: string): string {
  return `of ${lengthInWords(text.length)}${type === '' ? '' : `, ${type}`}`
}

/** Two different values may look the same without their content. */
function changeOf(before: string, after: string, verb: string): string {
  return `${before} ${verb} ${before === after ? 'another one' : after}`
}
