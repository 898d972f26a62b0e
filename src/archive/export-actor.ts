/**
 * The archive of an actor: JSON Lines (docs/archives.md), read page by page with bounded memory. Each page is one snapshot, so
 * a change during the export may be in the archive or not, but never in part.
 */
import { personKind } from '../app/kinds/person.ts'
import { setImmediate } from 'node:timers/promises'
import type { Actor } from '../actor/actor.ts'
import { ServiceError } from '../errors.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { type JsonText, known, object, stringText } from '../json/json.ts'
import { type ArchivedItem, archivedItems, archivedList, type IndexedItem, type ItemFormat } from '../list/list.ts'
import type { UnreadProperty } from '../property/property-store.ts'
import { release } from '../release.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { requireIntact } from '../store/checksum.ts'
import type { Store } from '../store/store.ts'
import { type ContentKind, member, type RecordKind, type RecordRow } from '../table/record-kind.ts'
import { contentKindsOf, type WithTables } from '../table/table.ts'
import { account, recordKindsWith } from './record-kinds.ts'
import { readRows, recordOf, type RowPage } from './record-rows.ts'

/** The version of the format. A reader refuses a higher one. */
export const archiveVersion = 1
/** Bytes of a content in one record. */
const chunkBytes = 49_152

export interface ExportDeps extends WithTables {
  readonly store: Pick<Store, 'read' | 'snapshot'>
  readonly keyRing: KeyRing
  readonly bytes: FileBytes
  readonly now: () => number
  readonly baseUrl: string
}

/** The part of the properties and lists that is in the archive. */
export interface ArchiveView {
  /** The property as the archive has it. Null: it is left out. */
  readonly property: (stored: UnreadProperty) => Promise<Pick<UnreadProperty, 'content' | 'version'> | null>
  /** Null: items are as they are stored. */
  readonly formatOf: (list: string) => ItemFormat | null
  /** The items that the archive has. Null: the rest of the list is left out. */
  readonly items: (list: string, items: readonly IndexedItem[]) => Promise<readonly IndexedItem[] | null>
  /** Whether the content that changes of the property replaced is in the archive. */
  readonly hasHistoryOf: (name: string) => boolean
}

/** Everything, as it is stored. */
export const wholeView: ArchiveView = {
  property: async (stored) => stored,
  formatOf: () => null,
  items: async (_list, items) => items,
  hasHistoryOf: () => true,
}

export interface ExportPlan {
  readonly view: ArchiveView
  /** Whether the archive has secrets, such as those of relationships, and the internal attributes and alarms. */
  readonly hasSecrets: boolean
  /** Whether the archive has the state of deliveries, for a move to another service. Default: false. */
  readonly isMove?: boolean
}

/** Yields the lines of the archive, several at a time. @throws ServiceError `value_corrupted`, `list_corrupted`, `file_missing` */
export async function* exportActor(deps: ExportDeps, actor: Actor, plan: ExportPlan): AsyncGenerator<string, void> {
  let records = 0
  for await (const lines of allRecords(deps, actor, plan)) {
    if (lines.length === 0) continue
    records += lines.length
    yield `${lines.join('\n')}\n`
    // Other work runs between two pages: the driver of SQLite is synchronous.
    await setImmediate()
  }
  yield `${line('end', [['records', known(String(records))]])}\n`
}

async function* allRecords(
  deps: ExportDeps,
  actor: Actor,
  plan: ExportPlan,
): AsyncGenerator<readonly JsonText[], void> {
  yield [header(deps, actor, plan)]
  yield* rowsOf(deps, actor.id, account, null)
  yield* propertiesOf(deps, actor.id, plan.view)
  for (const kind of contentKindsOf(deps.tables)) yield* contentsOf(deps, actor.id, kind)
  const keyRing = plan.hasSecrets ? deps.keyRing : null
  for (const kind of recordKindsWith(deps.tables)) {
    if (kind.isSecret === true && !plan.hasSecrets) continue
    if (kind.isOfMove === true && plan.isMove !== true) continue
    if (kind.kind === 'change') yield* historyOf(deps, actor.id, kind, plan.view)
    else yield* rowsOf(deps, actor.id, kind, keyRing)
  }
}

function header(
  { now, baseUrl }: ExportDeps,
  { id, creator, trusteeRoot, createdAt, kind }: Actor,
  plan: ExportPlan,
): JsonText {
  return line('archive', [
    ['version', known(String(archiveVersion))],
    ['actor', stringText(id)],
    ['url', stringText(`${baseUrl}/${id}`)],
    ['creator', stringText(creator)],
    ...(kind === personKind ? [] : [['actor_kind', stringText(kind)] as const]),
    ['trustee_root', trusteeRoot === null ? known('null') : stringText(trusteeRoot)],
    ['created_at', time(createdAt)],
    ['exported_at', time(now())],
    ['release', stringText(release)],
    ['secrets', known(String(plan.hasSecrets))],
  ])
}

function line(kind: string, members: Iterable<readonly [string, JsonText]>): JsonText {
  return object([['kind', stringText(kind)], ...members])
}

function time(ms: number): JsonText {
  return stringText(new Date(ms).toISOString())
}

function number(value: number): JsonText {
  return known(String(value))
}

async function* rowsOf(
  deps: ExportDeps,
  actorId: string,
  kind: RecordKind,
  keyRing: KeyRing | null,
): AsyncGenerator<readonly JsonText[], void> {
  for await (const rows of pagesOf(deps, actorId, kind)) yield rows.map((row) => recordOf(kind, actorId, row, keyRing))
}

async function* pagesOf(
  { store }: Pick<ExportDeps, 'store'>,
  actorId: string,
  kind: RecordKind,
): AsyncGenerator<readonly RecordRow[], void> {
  let after: RecordRow | null = null
  for (;;) {
    const last: RecordRow | null = after
    const { rows, isLast }: RowPage = await store.read((q) => readRows(q, kind, actorId, last))
    if (rows.length > 0) yield rows
    if (isLast) return
    after = rows.at(-1) ?? null
  }
}

/** Leaves out what changes replaced where a hook decides what the caller sees. */
async function* historyOf(
  deps: ExportDeps,
  actorId: string,
  kind: RecordKind,
  view: ArchiveView,
): AsyncGenerator<readonly JsonText[], void> {
  for await (const rows of pagesOf(deps, actorId, kind))
    yield rows.map((row) =>
      recordOf(kind, actorId, view.hasHistoryOf(String(row['name'])) ? row : { ...row, content: null }, null),
    )
}

const properties: RecordKind = {
  kind: 'property',
  table: 'property',
  key: ['name'],
  members: ['kind', 'value', 'version', 'checksum'].map((column) => ({ name: column, column, type: 'text' })),
  longColumn: 'value',
}

async function* propertiesOf(
  deps: ExportDeps,
  actorId: string,
  view: ArchiveView,
): AsyncGenerator<readonly JsonText[], void> {
  for await (const rows of pagesOf(deps, actorId, properties)) {
    const values: JsonText[] = []
    for (const row of rows) {
      const stored = propertyOf(actorId, row)
      if (stored.kind === 'list') {
        yield values.splice(0)
        yield* listOf(deps, actorId, stored, view)
        continue
      }
      const shown = await view.property(stored)
      if (shown === null) continue
      values.push(
        line('property', [
          ['name', stringText(stored.name)],
          ...(shown.version === 1 ? [] : [['version', number(shown.version)] as const]),
          ['value', known(shown.content)],
        ]),
      )
    }
    yield values
  }
}

function propertyOf(actorId: string, row: RecordRow): UnreadProperty {
  const name = String(row['name'])
  const content = String(row['value'])
  const checksum = row['checksum'] ?? null
  requireIntact(actorId, name, { value: content, checksum: checksum === null ? null : Number(checksum) })
  return { name, content, kind: row['kind'] === 'list' ? 'list' : 'value', version: Number(row['version']) }
}

async function* listOf(
  deps: ExportDeps,
  actorId: string,
  { name, content: head }: UnreadProperty,
  view: ArchiveView,
): AsyncGenerator<readonly JsonText[], void> {
  const { id, description, explanation, createdAt, updatedAt, nextItem, revision, length } = archivedList(name, head)
  const facts = line('list', [
    ['name', stringText(name)],
    ['id', stringText(id)],
    ['description', stringText(description)],
    ['explanation', stringText(explanation)],
    ['created_at', stringText(createdAt)],
    ['updated_at', stringText(updatedAt)],
    ['next_item', number(nextItem)],
    ['revision', number(revision)],
    ['length', number(length)],
  ])
  let isFirst = true
  const at = { actorId, list: name, format: view.formatOf(name) }
  for await (const { from, items } of archivedItems(deps.store, at)) {
    const shown = await view.items(
      name,
      items.map(({ value }, offset) => ({ index: from + offset, item: value })),
    )
    // A hook that hides the first page hides the list.
    if (shown === null) return
    if (isFirst) yield [facts]
    isFirst = false
    yield shown.flatMap(({ index, item }) => itemRecord(items[index - from], item))
  }
}

function itemRecord(row: ArchivedItem | undefined, value: JsonText): JsonText[] {
  if (row === undefined) return []
  const revision = row.revision === 1 ? '' : `,"revision":${row.revision}`
  const version = row.version === 1 ? '' : `,"version":${row.version}`
  return [known(`{"kind":"item","number":${row.item}${revision}${version},"value":${value}}`)]
}

async function* contentsOf(
  deps: ExportDeps,
  actorId: string,
  kind: ContentKind,
): AsyncGenerator<readonly JsonText[], void> {
  const withObject: RecordKind = { ...kind, members: [...kind.members, member.text('object')] }
  for await (const rows of pagesOf(deps, actorId, withObject)) {
    for (const row of rows) {
      const opened = await deps.bytes.open(String(row['object']), null)
      if (opened === null) {
        // The row was replaced or deleted since it was read, or the storage has lost its content.
        if (await isGone(deps, { actorId, kind }, row)) continue
        throw new ServiceError(
          'file_missing',
          `Cannot export the ${kind.kind} ${JSON.stringify(row['name'])}: its content is missing`,
        )
      }
      yield [recordOf(kind, actorId, row, null)]
      for await (const chunk of inChunks(opened.bytes))
        yield [line('bytes', [['data', known(`"${chunk.toString('base64')}"`)]])]
    }
  }
}

async function isGone(
  { store }: ExportDeps,
  { actorId, kind }: { readonly actorId: string; readonly kind: ContentKind },
  row: RecordRow,
): Promise<boolean> {
  const stored = await store.read((q) =>
    q.get(`SELECT object FROM ${kind.table} WHERE actor_id = $1 AND object = $2`, actorId, row['object'] ?? ''),
  )
  return stored === undefined
}

/** Pieces of one size, whatever the pieces of the storage are. */
async function* inChunks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  let rest = Buffer.alloc(0)
  for await (const piece of bytes) {
    rest = Buffer.concat([rest, piece])
    while (rest.length >= chunkBytes) {
      yield rest.subarray(0, chunkBytes)
      rest = rest.subarray(chunkBytes)
    }
  }
  if (rest.length > 0) yield rest
}
