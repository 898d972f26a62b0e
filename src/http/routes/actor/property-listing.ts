/** The listing of all properties in its three forms, written as JSON text so that every value stays as it was stored. */
import { ServiceError } from '../../../errors.ts'
import { array, type JsonText, known, object, pythonLength, stringText } from '../../../json/json.ts'
import { type ListMetadata, listMetadata } from '../../../list/list.ts'
import type { ListReading, SeenList } from '../../../property/lists.ts'
import type { StoredProperty } from '../../../property/property-store.ts'

/** Values by name, then the lists with their lengths. */
export function listingView(properties: readonly StoredProperty[]): JsonText {
  const lists = properties.flatMap((property) =>
    property.kind === 'list' ? [[property.name, shortList(property.name, property.head)] as const] : [],
  )
  return object([...valuesOf(properties), ...lists])
}

/** A damaged list says so here and leaves the rest of the listing readable; reading the list itself is refused. */
function shortList(name: string, head: string): JsonText {
  try {
    return known(JSON.stringify({ _list: true, count: listMetadata(name, head).length }))
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted')
      return known('{"_list":true,"count":null,"error":"list_corrupted"}')
    throw error
  }
}

function valuesOf(properties: readonly StoredProperty[]): (readonly [name: string, value: JsonText])[] {
  return properties.flatMap((property) => (property.kind === 'value' ? [[property.name, property.value] as const] : []))
}

/** Values by name, then the lists with their items. Null when the lists are too long to be held in memory. */
export function fullView(properties: readonly StoredProperty[], lists: ReadonlyMap<string, SeenList>): JsonText | null {
  const members = valuesOf(properties)
  for (const [name, { metadata, items }] of lists) {
    if (items === null) return null
    members.push([name, known(`${openingOf(metadata)}${items.join(',')}]}`)])
  }
  return object(members)
}

/**
 * As `fullView`, in pieces. Lists that were read already are given as they are; the others are opened one by one, and
 * left out when they were removed or hidden meanwhile.
 */
export async function* fullPieces(
  properties: readonly StoredProperty[],
  lists: ReadonlyMap<string, SeenList>,
  open: (name: string) => Promise<ListReading | null>,
): AsyncGenerator<string> {
  const values = object(valuesOf(properties))
  let separator = values === '{}' ? '' : ','
  yield values.slice(0, -1)
  for (const [name, { metadata, items }] of lists) {
    const opening = `${separator}${stringText(name)}:`
    if (items !== null) {
      yield `${opening}${openingOf(metadata)}${items.join(',')}]}`
      separator = ','
      continue
    }
    const reading = await open(name)
    if (reading === null) continue
    yield `${opening}${openingOf(reading.metadata)}`
    yield* joined(reading, ({ item }) => item)
    yield ']}'
    separator = ','
  }
  yield '}'
}

/** A list as an array, page by page. */
export async function* arrayPieces(reading: ListReading): AsyncGenerator<string> {
  yield '['
  yield* joined(reading, ({ item }) => item)
  yield ']'
}

/** The item view of a list, page by page. `count` is the length of the whole list. */
export async function* itemPieces(reading: ListReading): AsyncGenerator<string> {
  yield '{"items":['
  yield* joined(reading, indexedItem)
  yield `],"count":${reading.metadata.length}}`
}

/** The item view of a list, or of a part of it, whose items were all read at once. */
export function itemView({ first, metadata }: ListReading): JsonText {
  return known(`{"items":[${first.map(indexedItem).join(',')}],"count":${metadata.length}}`)
}

function indexedItem({ index, item }: { readonly index: number; readonly item: JsonText }): string {
  return `{"index":${index},"item":${item}}`
}

async function* joined(
  reading: ListReading,
  write: (item: { readonly index: number; readonly item: JsonText }) => string,
): AsyncGenerator<string> {
  let separator = ''
  for await (const page of reading.pages()) {
    if (page.length === 0) continue
    yield separator + page.map(write).join(',')
    separator = ','
  }
}

/** The object of a list in the full listing, up to its first item. */
function openingOf({ length, description, explanation }: ListMetadata): string {
  const texts = `"description":${stringText(description)},"explanation":${stringText(explanation)}`
  return `{"_list":true,"count":${length},${texts},"items":[`
}

/** The facts of a list for `metadataView`. */
export interface ListSize {
  readonly name: string
  readonly metadata: ListMetadata
  readonly bytes: number
}

/** Names, counts and sizes. Sizes are those of the values written as Python peers write them. */
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

/** The value of a list whose items were all read at once. */
export function listValue({ first }: ListReading): JsonText {
  return array(first.map(({ item }) => item))
}
