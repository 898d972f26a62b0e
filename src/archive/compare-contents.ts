/** Compares the content of two actors, page by page. */
import { equal } from '../json/equal.ts'
import { archivedItems, archivedList } from '../list/list.ts'
import type { Store } from '../store/store.ts'
import type { RecordKind, RecordRow } from '../table/record-kind.ts'
import { contentKindsOf, type WithTables } from '../table/table.ts'
import { recordKindsWith } from './record-kinds.ts'
import { readRows, type RowPage } from './record-rows.ts'
import { isOfPeers } from './replaced-rows.ts'

export interface ChangeCounts {
  added: number
  changed: number
  removed: number
  same: number
}

export interface ComparedActors extends WithTables {
  readonly actorId: string
  /** The actor with the content of the archive. */
  readonly trial: string
  /** Whether the archive has attributes and alarms. */
  readonly hasSecrets: boolean
}

const properties: RecordKind = {
  kind: 'property',
  table: 'property',
  key: ['name'],
  members: [
    { name: 'kind', column: 'kind', type: 'text' },
    { name: 'value', column: 'value', type: 'value' },
    { name: 'version', column: 'version', type: 'integer' },
  ],
  longColumn: 'value',
}

/** The changes of each kind that either actor has, from the first actor to the second. */
export async function compareContents(store: Store, actors: ComparedActors): Promise<Record<string, ChangeCounts>> {
  const counts: Record<string, ChangeCounts> = {}
  const secret = actors.hasSecrets
    ? recordKindsWith([]).filter(({ kind }) => kind === 'attribute' || kind === 'alarm')
    : []
  const contents = contentKindsOf(actors.tables).map((kind) => ({ ...kind, members: kind.content.compared }))
  for (const kind of [properties, ...contents, ...secret]) {
    for await (const [now, archived] of pairs(store, kind, actors)) {
      const row = archived ?? now
      const name = row?.['kind'] === 'list' ? 'list' : kind.kind
      const count = (counts[name] ??= { added: 0, changed: 0, removed: 0, same: 0 })
      if (now === null) count.added += 1
      else if (archived === null) count.removed += 1
      else if (await isSame(store, kind, actors, [now, archived])) count.same += 1
      else count.changed += 1
    }
  }
  return counts
}

async function isSame(
  store: Store,
  { members }: RecordKind,
  actors: ComparedActors,
  [now, archived]: readonly [RecordRow, RecordRow],
): Promise<boolean> {
  if (now['kind'] === 'list' && archived['kind'] === 'list') return isSameList(store, actors, [now, archived])
  return members.every(({ column }) => column === 'timestamp' || now[column] === archived[column])
}

async function isSameList(
  store: Store,
  { actorId, trial }: ComparedActors,
  [now, archived]: readonly [RecordRow, RecordRow],
): Promise<boolean> {
  const list = String(now['name'])
  const [one, other] = [archivedList(list, String(now['value'])), archivedList(list, String(archived['value']))]
  if (one.length !== other.length) return false
  if (one.description !== other.description || one.explanation !== other.explanation) return false
  const [mine, theirs] = [itemsOf(store, actorId, list), itemsOf(store, trial, list)]
  for await (const { value, version } of mine) {
    const found = await theirs.next()
    if (found.done === true || found.value.version !== version || !equal(found.value.value, value)) return false
  }
  return (await theirs.next()).done === true
}

async function* itemsOf(store: Store, actorId: string, list: string) {
  for await (const { items } of archivedItems(store, { actorId, list, format: null })) yield* items
}

/** The rows of both actors with the same key. Null: the actor has none. */
async function* pairs(
  store: Store,
  kind: RecordKind,
  { actorId, trial }: ComparedActors,
): AsyncGenerator<readonly [RecordRow | null, RecordRow | null]> {
  const [mine, theirs] = [rowsOf(store, kind, actorId), rowsOf(store, kind, trial)]
  let [now, archived] = [await next(mine), await next(theirs)]
  while (now !== null || archived !== null) {
    const order = now === null ? 1 : archived === null ? -1 : compareKeys(kind, now, archived)
    yield [order <= 0 ? now : null, order >= 0 ? archived : null]
    if (order <= 0) now = await next(mine)
    if (order >= 0) archived = await next(theirs)
  }
}

async function next(rows: AsyncGenerator<RecordRow, void>): Promise<RecordRow | null> {
  const found = await rows.next()
  return found.done === true ? null : found.value
}

/** Compares keys byte by byte, like the databases. */
function compareKeys({ key }: RecordKind, one: RecordRow, other: RecordRow): number {
  for (const column of key) {
    const order = Buffer.compare(Buffer.from(String(one[column])), Buffer.from(String(other[column])))
    if (order !== 0) return order
  }
  return 0
}

async function* rowsOf(store: Store, kind: RecordKind, actorId: string): AsyncGenerator<RecordRow, void> {
  for (let after: RecordRow | null = null; ; ) {
    const from: RecordRow | null = after
    const page: RowPage = await store.read((q) => readRows(q, kind, actorId, from))
    const { rows, isLast } = page
    for (const row of rows) if (kind.kind !== 'attribute' || !isOfPeers(String(row['bucket']))) yield row
    after = rows.at(-1) ?? null
    if (isLast || after === null) return
  }
}
