/** All properties with the items of lists, as JSON text in which every value stays exactly as stored. */
import { setImmediate } from 'node:timers/promises'
import { type JsonText, object, stringText } from '../json/json.ts'
import { valueOf } from './kinds.ts'
import { fullList, fullListPieces } from './lists/list-json.ts'
import type { Access } from './access.ts'
import type { ListReader, ListReading } from './lists/list-reader.ts'
import type { Everything, Properties } from './properties.ts'
import { pageRows, type StoredProperty } from './property-store.ts'

/** The values among the properties, by name. */
export function valuesOf(properties: readonly StoredProperty[]): (readonly [name: string, value: JsonText])[] {
  return properties.flatMap((property) => {
    const value = valueOf(property)
    return value === null ? [] : [[property.name, value] as const]
  })
}

/**
 * Reads the values by name, then the lists with their items. What is too long for memory comes in pieces.
 *
 * @param names only the properties of these names. Null: all.
 * @returns the version, or null for pieces that have none.
 */
export async function readFull(
  { properties, listReader }: { readonly properties: Properties; readonly listReader: ListReader },
  access: Access,
  names: readonly string[] | null = null,
): Promise<{ readonly content: JsonText | AsyncIterable<string>; readonly version: string | null }> {
  const everything = await properties.together(access, names)
  if (everything === null) {
    const listPieces = async (name: string): Promise<AsyncIterable<string> | null> => {
      const reading = await listReader.open(access, name)
      return reading === null ? null : fullListPieces(reading)
    }
    return { content: pagePieces(properties.pages(access, names), ({ name }) => name, listPieces), version: null }
  }
  const whole = fullView(everything)
  const content = whole ?? fullPieces(everything, (name) => listReader.open(access, name))
  return { content, version: everything.version(whole) }
}

/** Returns the values by name, then the lists with their items. Null when the lists are too long for memory. */
function fullView({ shown, lists }: Everything): JsonText | null {
  const members = valuesOf(shown)
  for (const [name, seen] of lists) {
    const list = fullList(seen)
    if (list === null) return null
    members.push([name, list])
  }
  return object(members)
}

/**
 * Yields values by name, then the other properties, in pieces. Only the current page is in memory.
 *
 * @param other The JSON of a property that is not a value, in pieces. Null when it was removed or hidden meanwhile.
 */
export async function* pagePieces<Other>(
  pages: AsyncIterable<readonly StoredProperty[]>,
  keep: (property: StoredProperty) => Other,
  other: (kept: Other) => Promise<AsyncIterable<string> | null>,
): AsyncGenerator<string> {
  const others: (readonly [name: string, kept: Other])[] = []
  let separator = '{'
  for await (const page of pages) {
    for (const property of page) if (valueOf(property) === null) others.push([property.name, keep(property)])
    for (const [name, value] of valuesOf(page)) {
      yield `${separator}${stringText(name)}:`
      yield value
      separator = ','
    }
  }
  for (const [at, [name, kept]] of others.entries()) {
    if (at % pageRows === pageRows - 1) await setImmediate()
    const pieces = await other(kept)
    if (pieces === null) continue
    yield `${separator}${stringText(name)}:`
    yield* pieces
    separator = ','
  }
  yield separator === '{' ? '{}' : '}'
}

/**
 * Yields the same JSON as `fullView` in pieces. Lists that were not read yet are opened one by one, and skipped when they
 * were removed or hidden meanwhile.
 */
async function* fullPieces(
  { shown, lists }: Everything,
  open: (name: string) => Promise<ListReading | null>,
): AsyncGenerator<string> {
  const values = object(valuesOf(shown))
  let separator = values === '{}' ? '' : ','
  yield values.slice(0, -1)
  for (const [name, seen] of lists) {
    const list = fullList(seen)
    const reading = list === null ? await open(name) : null
    if (list === null && reading === null) continue
    yield `${separator}${stringText(name)}:`
    if (list !== null) yield list
    else if (reading !== null) yield* fullListPieces(reading)
    separator = ','
  }
  yield '}'
}
