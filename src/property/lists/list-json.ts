/** Writes lists as JSON on the wire. Long lists are written in pieces, to limit memory. */
import { array, type JsonText, known, stringText } from '../../json/json.ts'
import type { IndexedItem, ListMetadata } from '../../list/list.ts'
import type { ListReading, SeenList } from './list-reader.ts'

export interface NextRange {
  /** The `start` of the next page. After a page that was found by `after`, the same as `after`. */
  readonly next: number | string
  readonly after: string
}

/** The array of a list that was read in one page. */
export function listArray({ first, whole }: ListReading): JsonText {
  return whole ?? array(first.map(({ item }) => item))
}

/** A list as an array, page by page. */
export async function* arrayPieces(reading: ListReading): AsyncGenerator<string> {
  yield '['
  yield* joined(reading, ({ item }) => item)
  yield ']'
}

/** The item view of a list, or part of a list, that was read in one page. */
export function itemView({ first, metadata }: ListReading, next: NextRange | null): JsonText {
  return known(`{"items":[${first.map(indexedItem).join(',')}],"count":${metadata.length}${nextMember(next)}}`)
}

/** The item view of a list, page by page. `count` is the length of the list. */
export async function* itemPieces(reading: ListReading, next: NextRange | null): AsyncGenerator<string> {
  yield '{"items":['
  yield* joined(reading, indexedItem)
  yield `],"count":${reading.metadata.length}${nextMember(next)}}`
}

/** The items of a list, one on each line. */
export async function* itemLines(reading: ListReading): AsyncGenerator<string> {
  for await (const page of reading.pages()) yield page.map(({ item }) => `${item}\n`).join('')
}

/** Members of an answer that name the next page of a range. */
export function nextMember(next: NextRange | null): string {
  return next === null ? '' : `,"next":${JSON.stringify(next.next)},"after":"${next.after}"`
}

/** The list in the full listing. Null for a list that is too long to be read in one page. */
export function fullList({ metadata, items }: SeenList): JsonText | null {
  return items === null ? null : known(`${openingOf(metadata)}${items.join(',')}]}`)
}

/** Like `fullList`, page by page. */
export async function* fullListPieces(reading: ListReading): AsyncGenerator<string> {
  yield openingOf(reading.metadata)
  yield* joined(reading, ({ item }) => item)
  yield ']}'
}

/** The JSON of a list up to its first item. */
function openingOf({ length, description, explanation }: ListMetadata): string {
  const texts = `"description":${stringText(description)},"explanation":${stringText(explanation)}`
  return `{"_list":true,"count":${length},${texts},"items":[`
}

function indexedItem({ index, item }: IndexedItem): string {
  return `{"index":${index},"item":${item}}`
}

async function* joined(reading: ListReading, write: (item: IndexedItem) => string): AsyncGenerator<string> {
  let separator = ''
  for await (const page of reading.pages()) {
    if (page.length === 0) continue
    yield separator + page.map(write).join(',')
    separator = ','
  }
}
