/** Reads all properties of an actor in pages, because they may not fit into memory together. */
import { setImmediate } from 'node:timers/promises'
import type { Reads } from '../store/read-replicas.ts'
import type { Queries } from '../store/store.ts'
import {
  findNamedProperties,
  findProperties,
  findPropertyPage,
  type ListedProperty,
  pageRows,
  type PropertyPageQuery,
  type UnreadProperty,
} from './property-store.ts'

/** The size of a page, unless one value is larger. */
const pageBytes = 1_048_576
/** The most bytes of values that are kept in memory together. */
const togetherBytes = 4_194_304

type IsNeeded = (property: Pick<ListedProperty, 'name' | 'kind'>) => boolean

/**
 * All properties by name. Null when they are too many or too long to be kept in memory together.
 *
 * @param names only the properties of these names. Null: all.
 */
export async function readTogether(
  q: Queries,
  actorId: string,
  names: readonly string[] | null = null,
): Promise<readonly UnreadProperty[] | null> {
  const page = await findPropertyPage(q, actorId, { after: '', names, contents: 'short' })
  const bytes = page.reduce((sum, row) => sum + row.bytes, 0)
  if (page.length === pageRows || bytes > togetherBytes) return null
  const stored = page.flatMap((row) => row.stored ?? [])
  if (stored.length === page.length) return stored
  return names === null
    ? findProperties(q, actorId)
    : [...(await findNamedProperties(q, actorId, names)).values()].toSorted(byName)
}

function byName(a: UnreadProperty, b: UnreadProperty): number {
  return a.name < b.name ? -1 : 1
}

/** The part of all properties that is read. */
export interface PageSelection extends Partial<PropertyPageQuery> {
  /** Whether the content is needed. Other long contents are null. */
  readonly isNeeded: IsNeeded
}

/** All properties by name, page by page. Each page is read on its own, so a change in between shows in later pages only. */
export async function* readPages(
  store: Pick<Reads, 'read'>,
  actorId: string,
  { isNeeded, after: start = '', names = null, contents = 'short' }: PageSelection,
): AsyncGenerator<readonly ListedProperty[], undefined> {
  for (let after = start; ; ) {
    const page = await store.read((q) => findPropertyPage(q, actorId, { after, names, contents }))
    for (const part of partsOf(page, isNeeded)) {
      yield await complete(store, actorId, part, isNeeded)
      // Other work runs between two parts: the driver of SQLite is synchronous.
      await setImmediate()
    }
    const last = page.at(-1)
    if (last === undefined || page.length < pageRows) return
    after = last.name
  }
}

/** The names and kinds of all properties, in pages. */
export function readNamePages(
  store: Pick<Reads, 'read'>,
  actorId: string,
  names: readonly string[] | null = null,
): AsyncGenerator<readonly ListedProperty[], undefined> {
  return readPages(store, actorId, { isNeeded: () => false, names, contents: 'none' })
}

/** Divides a page, so that the contents of each part would fit into memory together. */
export function shortParts(page: readonly ListedProperty[]): readonly ListedProperty[][] {
  return partsOf(page, () => true)
}

/** Divides a page, so that the long contents of each part fit into memory together. */
function partsOf(page: readonly ListedProperty[], isNeeded: IsNeeded): readonly ListedProperty[][] {
  const parts: ListedProperty[][] = [[]]
  let bytes = 0
  for (const row of page) {
    const added = isNeeded(row) ? row.bytes : 0
    if (bytes > 0 && bytes + added > pageBytes) {
      parts.push([])
      bytes = 0
    }
    bytes += added
    parts.at(-1)?.push(row)
  }
  return parts
}

/** Adds the long contents that are needed. Leaves out properties that were removed meanwhile. */
async function complete(
  store: Pick<Reads, 'read'>,
  actorId: string,
  part: readonly ListedProperty[],
  isNeeded: IsNeeded,
): Promise<readonly ListedProperty[]> {
  const isMissing = (row: ListedProperty): boolean => row.stored === null && isNeeded(row)
  const missing = part.filter(isMissing).map(({ name }) => name)
  if (missing.length === 0) return part
  const found = await store.read((q) => findNamedProperties(q, actorId, missing))
  return part.flatMap((row) => {
    if (!isMissing(row)) return row
    const stored = found.get(row.name)
    return stored === undefined ? [] : { ...row, kind: stored.kind, stored }
  })
}
