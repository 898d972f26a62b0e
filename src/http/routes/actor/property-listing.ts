/** The listing of all properties in two formats, built as JSON text so that every value stays exactly as stored. */
import { type JsonText, known, object, pythonLength } from '../../../json/json.ts'
import { kinds, valueOf } from '../../../property/kinds.ts'
import { pagePieces, valuesOf } from '../../../property/full-json.ts'
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

/** Yields the same JSON as `listingView` in pieces. */
export function listingPieces(pages: AsyncIterable<readonly StoredProperty[]>): AsyncIterable<string> {
  return pagePieces(
    pages,
    (property) => kinds[property.kind].entry(property),
    (entry) => Promise.resolve(onePiece(entry)),
  )
}

async function* onePiece(text: JsonText): AsyncGenerator<string> {
  yield await Promise.resolve(text)
}

/** Names and sizes of values. A size is the length in Python's JSON format, as peers compute it. */
export class ValueSizes {
  readonly names: string[] = []
  bytes = 0

  add(properties: readonly StoredProperty[]): void {
    for (const [name, value] of valuesOf(properties)) {
      this.names.push(name)
      this.bytes += pythonLength(value)
    }
  }
}

/** Returns names, counts and sizes. */
export function metadataView({ names, bytes }: ValueSizes, lists: readonly ListSize[]): JsonText {
  return known(
    JSON.stringify({
      simple: { properties: names, total_bytes: bytes },
      lists: Object.fromEntries(
        lists.map(({ name, metadata: { length, description, explanation }, bytes: size }) => [
          name,
          { count: length, total_bytes: size, description, explanation },
        ]),
      ),
    }),
  )
}
