/** Reads all properties of an actor in pages, because they may not fit into memory together. */
import type { Reads } from '../store/read-replicas.ts'
import type { Queries } from '../store/store.ts'
import {
  findNamedProperties,
  findProperties,
  findPropertyPage,
  type ListedProperty,
  pageRows,
  type UnreadProperty,
} from './property-store.ts'

/** The size of a page, unless one value is larger. */
const pageBytes = 1_048_576
/** The most bytes of values that are kept in memory together. */
const togetherBytes = 4_194_304

/** All properties by name. Null when they are too many or too long to be kept in memory together. */
export async function readTogether(q: Queries, actorId: string): Promise<readonly UnreadProperty[] | null> {
  const page = await findPropertyPage(q, actorId, '')
  const bytes = page.reduce((sum, row) => sum + row.bytes, 0)
  if (page.length === pageRows || bytes > togetherBytes) return null
  const stored = page.flatMap((row) => row.stored ?? [])
  return stored.length === page.length ? stored : findProperties(q, actorId)
}

/**
 * All properties by name, page by page. Each page is read on its own, so a change in between shows in later pages only.
 *
 * @param isNeeded whether the content of the name is needed. Other long contents are null.
 */
export async function* readPages(
  store: Reads,
  actorId: string,
  isNeeded: (name: string) => boolean,
): AsyncGenerator<readonly ListedProperty[], undefined> {
  for (let after = ''; ; ) {
    const page = await store.read((q) => findPropertyPage(q, actorId, after))
    for (const part of partsOf(page, isNeeded)) yield await complete(store, actorId, part, isNeeded)
    const last = page.at(-1)
    if (last === undefined || page.length < pageRows) return
    after = last.name
  }
}

/** Divides a page, so that the long contents of each part fit into memory together. */
function partsOf(page: readonly ListedProperty[], isNeeded: (name: string) => boolean): readonly ListedProperty[][] {
  const parts: ListedProperty[][] = [[]]
  let bytes = 0
  for (const row of page) {
    const added = row.stored === null && isNeeded(row.name) ? row.bytes : 0
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
  store: Reads,
  actorId: string,
  part: readonly ListedProperty[],
  isNeeded: (name: string) => boolean,
): Promise<readonly ListedProperty[]> {
  const isMissing = ({ name, stored }: ListedProperty): boolean => stored === null && isNeeded(name)
  const missing = part.filter(isMissing).map(({ name }) => name)
  if (missing.length === 0) return part
  const found = await store.read((q) => findNamedProperties(q, actorId, missing))
  return part.flatMap((row) => {
    if (!isMissing(row)) return row
    const stored = found.get(row.name)
    return stored === undefined ? [] : { ...row, kind: stored.kind, stored }
  })
}
