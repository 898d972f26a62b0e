/** The listing of all properties in three formats, built as JSON text so that every value stays exactly as stored. */
import { type JsonText, known, object, pythonLength, stringText } from '../../../json/json.ts'
import { kinds, valueOf } from '../../../property/kinds.ts'
import { fullList, fullListPieces } from '../../../property/lists/list-json.ts'
import type { ListReading, ListSize } from '../../../property/lists/list-reader.ts'
import type { Everything } from '../../../property/properties.ts'
import type { StoredProperty } from '../../../property/property-store.ts'

/** Returns the values by name, then the lists with their lengths. */
export function listingView(properties: readonly StoredProperty[]): JsonText {
  const values: (readonly [name: string, value: JsonText])[] = []
  const others: (readonly [name: string, entry: JsonText])[] = []
  for (const property of properties) {
    const value = valueOf(property)
    if (value !== null) values.push([property.name, value])
    else others.push([property.name, kinds[property.kind].entry(property)])
  }
  return object(values.concat(others))
}

function valuesOf(properties: readonly StoredProperty[]): (readonly [name: string, value: JsonText])[] {
  return properties.flatMap((property) => {
    const value = valueOf(property)
    return value === null ? [] : [[property.name, value] as const]
  })
}

/** Returns the values by name, then the lists with their items. Null when the lists are too long for memory. */
export function fullView({ shown, lists }: Everything): JsonText | null {
  const members = valuesOf(shown)
  for (const [name, seen] of lists) {
    const list = fullList(seen)
    if (list === null) return null
    members.push([name, list])
  }
  return object(members)
}

/**
 * Yields the same JSON as `fullView` in pieces. Lists that were not read yet are opened one by one, and skipped when they
 * were removed or hidden meanwhile.
 */
export async function* fullPieces(
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

/** Returns names, counts and sizes. A size is the length of the value in Python's JSON format, as peers compute it. */
export function metadataView(properties: readonly StoredProperty[], lists: readonly ListSize[]): JsonText {
  const values = valuesOf(properties)
  return known(
    JSON.stringify({
      simple: {
        properties: values.map(([name]) => name),
        total_bytes: values.reduce((sum, [, value]) => sum + pythonLength(value), 0),
      },
      lists: Object.fromEntries(
        lists.map(({ name, metadata: { length, description, explanation }, bytes }) => [
          name,
          { count: length, total_bytes: bytes, description, explanation },
        ]),
      ),
    }),
  )
}
