/** The listing of all properties in its three forms, written as JSON text so that every value stays as it was stored. */
import { ServiceError } from '../errors.ts'
import { array, type JsonText, known, object, pythonLength } from '../json/json.ts'
import { listMetadata } from '../property/list.ts'
import type { ListContent } from '../property/lists.ts'
import type { StoredProperty } from '../property/property-store.ts'

export interface Shown {
  readonly properties: readonly StoredProperty[]
  /** Null where only the heads were read. */
  readonly lists: ReadonlyMap<string, ListContent> | null
}

/** Values by name, then lists. */
export function listingView({ properties, lists }: Shown): JsonText {
  const values: (readonly [string, JsonText])[] = []
  const listed: (readonly [string, JsonText])[] = []
  for (const property of properties) {
    if (property.kind === 'value') values.push([property.name, property.value])
    else if (lists === null) listed.push([property.name, shortList(property.name, property.head)])
    else {
      const content = lists.get(property.name)
      if (content !== undefined) listed.push([property.name, fullList(content)])
    }
  }
  return object([...values, ...listed])
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

function fullList({ metadata, items }: ListContent): JsonText {
  const { description, explanation } = metadata
  return object([
    ['_list', known('true')],
    ['count', known(String(items.length))],
    ['description', known(JSON.stringify(description))],
    ['explanation', known(JSON.stringify(explanation))],
    ['items', array(items)],
  ])
}

/** Names, counts and sizes. Sizes are those of the values written as Python peers write them. */
export function metadataView({ properties, lists }: Shown): JsonText {
  const values = properties.flatMap((property) => (property.kind === 'value' ? [property] : []))
  const shownLists = properties.flatMap(({ name }) => {
    const content = lists?.get(name)
    return content === undefined ? [] : [[name, content] as const]
  })
  return known(
    JSON.stringify({
      simple: { properties: values.map(({ name }) => name), total_bytes: sizeOf(values.map(({ value }) => value)) },
      lists: Object.fromEntries(
        shownLists.map(([name, { metadata, items }]) => [
          name,
          {
            count: items.length,
            total_bytes: sizeOf(items),
            description: metadata.description,
            explanation: metadata.explanation,
          },
        ]),
      ),
    }),
  )
}

function sizeOf(values: readonly JsonText[]): number {
  return values.reduce((sum, value) => sum + pythonLength(value), 0)
}
