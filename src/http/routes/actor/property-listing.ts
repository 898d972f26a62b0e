/** The listing of all properties in two formats, built as JSON text so that every value stays exactly as stored. */
import { type JsonText, known, object, pythonLength } from '../../../json/json.ts'
import { kinds, valueOf } from '../../../property/kinds.ts'
import { valuesOf } from '../../../property/full-json.ts'
import type { ListSize } from '../../../property/lists/list-reader.ts'
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
