/**
 * The copy of a peer's data, as diffs and snapshots change it. A batch has a fixed number of statements, and only
 * writes the list items that a change contains.
 */
import type { AttributeForm } from '../../actor/attributes.ts'
import { isObject, type JsonText, known, members } from '../../json/json.ts'
import type { PageStart } from '../../list/list.ts'
import type { Queries, Transaction } from '../../store/store.ts'
import type { Scope } from '../../subscription/scope.ts'
import { isStorableName, listAction, type ReplicaListOperation, type ReplicaChange } from './replica-change.ts'
import { placesOf, placesWithout, type Run, runsBetween } from './replica-layout.ts'
import { ReplicaList } from './replica-list.ts'
import { coveredValue, mergeBelow, uncoveredValue } from './replica-value.ts'
import { listItemKey, listMetaKey, nameOfKey, remoteBucket } from './remote-keys.ts'
import { deleteBucket, deleteKeys, findAllKeys, findKeys, type KeyWrite, writeKeys } from './remote-store.ts'

export interface RemoteAddress {
  readonly actorId: string
  readonly peerId: string
}

/** Fetched content of one name. */
export type Content =
  | { readonly kind: 'value'; readonly value: JsonText }
  | {
      readonly kind: 'list'
      readonly items: readonly JsonText[]
      readonly description?: string | undefined
      readonly explanation?: string | undefined
    }
  /** Content exists, but could not be fetched. Its copy stays as it is. */
  | { readonly kind: 'kept' }

interface ListHead {
  readonly length: number
  /** The order of the items, when their places differ from their positions. */
  readonly runs?: readonly Run[]
  readonly created_at: string
  readonly description: string
  readonly explanation: string
}

/** Without `runs`, places and positions are equal. */
function runsOf({ length, runs }: Pick<ListHead, 'length' | 'runs'>): readonly Run[] {
  return runs ?? (length === 0 ? [] : [[0, length]])
}

interface OpenReplicaList {
  readonly head: ListHead
  readonly list: ReplicaList
}

type Entry =
  | { readonly kind: 'absent' }
  | { readonly kind: 'value'; readonly value: JsonText }
  | ({ readonly kind: 'list' } & OpenReplicaList)

/**
 * Applies changes in their order.
 *
 * @returns false when the copy differs from the data of the peer, so that it must be fetched again.
 */
export async function applyChanges(
  tx: Transaction,
  address: RemoteAddress,
  changes: readonly ReplicaChange[],
  now: number,
): Promise<boolean> {
  if (changes.length === 0) return true
  const { actorId } = address
  const bucket = remoteBucket(address.peerId)
  const names = [...new Set(changes.map(({ name }) => name))]
  const before = await findKeys(
    tx,
    actorId,
    bucket,
    names.flatMap((name) => [name, listMetaKey(name)]),
  )
  const items = new Map<string, JsonText | null>()
  for (let round = 1; ; round++) {
    const outcome = replay(changes, before, items, now)
    if (outcome.needs.size === 0) {
      await save(tx, address, before, outcome.entries, now)
      return !outcome.diverged
    }
    // Round 1 reads the items at the expected places. Round 2 reads the whole list, for items at other positions. The
    // third replay therefore has everything that it needs.
    const keys = [...outcome.needs].flatMap(([name, { places, stored }]) =>
      (round === 1 ? places : stored.flatMap(placesOf)).map((place) => listItemKey(name, place)),
    )
    const found = await findKeys(tx, actorId, bucket, keys)
    for (const key of keys) items.set(key, found.get(key) ?? null)
  }
}

interface Replayed {
  readonly entries: ReadonlyMap<string, Entry>
  /** The places of the items to read first, by list. */
  readonly needs: ReadonlyMap<string, { readonly places: readonly number[]; readonly stored: readonly Run[] }>
  readonly diverged: boolean
}

/** @param items The items that were read. Null: the item is missing. */
function replay(
  changes: readonly ReplicaChange[],
  before: ReadonlyMap<string, JsonText>,
  items: ReadonlyMap<string, JsonText | null>,
  now: number,
): Replayed {
  const entries = new Map<string, Entry>()
  const needs = new Map<string, { places: number[]; stored: readonly Run[] }>()
  let diverged = false
  for (const change of changes) {
    const { name } = change
    const entry = entries.get(name) ?? storedEntry(before, name)
    const outcome = applyOne(change, entry, (place) => items.get(listItemKey(name, place)) ?? undefined, now)
    if ('needs' in outcome) {
      const unread = outcome.needs.filter((place) => !items.has(listItemKey(name, place)))
      // The item was read and is missing: the copy is damaged and must be fetched again.
      if (unread.length === 0) diverged = true
      // The following changes are examined too, so that one round reads all their items.
      else needs.set(name, { places: [...(needs.get(name)?.places ?? []), ...unread], stored: outcome.stored })
      continue
    }
    entries.set(name, outcome.entry)
    diverged ||= outcome.diverged
  }
  return { entries, needs, diverged }
}

type Outcome =
  | { readonly entry: Entry; readonly diverged: boolean }
  /** The places of the items to read, and those of the whole list. */
  | { readonly needs: readonly number[]; readonly stored: readonly Run[] }

function applyOne(
  change: ReplicaChange,
  entry: Entry,
  stored: (index: number) => JsonText | undefined,
  now: number,
): Outcome {
  const fine = (after: Entry): Outcome => ({ entry: after, diverged: false })
  switch (change.kind) {
    case 'remove':
      return fine({ kind: 'absent' })
    case 'refetch':
      return { entry, diverged: true }
    case 'items': {
      const opened = openList(entry, now)
      opened.list.replaceAll(change.items)
      return fine({ kind: 'list', ...opened })
    }
    case 'list':
      return applyToList(change.operation, entry, stored, now)
    case 'set':
      // Some implementations send a string about a list when the whole list was created or changed.
      if (entry.kind === 'list' && !isObject(change.value)) return { entry, diverged: true }
      return fine({ kind: 'value', value: change.value })
    case 'merge':
    case 'put':
      if (entry.kind === 'list') return applyPartToList(change, entry, stored, now)
      // A list that the peer created over HTTP is not a list in the copy yet.
      if (change.kind === 'merge' && actionIn(change) !== null) return { entry, diverged: true }
      return fine(mergedInto(entry, change))
    default:
      return change satisfies never
  }
}

type PartChange = Extract<ReplicaChange, { kind: 'merge' | 'put' }>

function mergedInto(entry: Exclude<Entry, { kind: 'list' }>, { kind, below, value: part }: PartChange): Entry {
  const merged = mergeBelow(entry.kind === 'value' ? entry.value : undefined, below, part, kind === 'put')
  return merged === undefined ? { kind: 'absent' } : { kind: 'value', value: merged }
}

/** A change of the list itself may be an operation. A change below the list cannot be one. */
function applyPartToList(
  change: PartChange,
  entry: Entry,
  stored: (index: number) => JsonText | undefined,
  now: number,
): Outcome {
  const action = actionIn(change)
  return action === null ? { entry, diverged: true } : applyToList(action, entry, stored, now)
}

function actionIn({ below, value: part }: PartChange): ReplicaListOperation | null {
  return below.length === 0 && part !== null ? listAction(part) : null
}

function applyToList(
  operation: ReplicaListOperation,
  entry: Entry,
  stored: (index: number) => JsonText | undefined,
  now: number,
): Outcome {
  if (operation.operation === 'delete_all') return { entry: { kind: 'absent' }, diverged: false }
  const opened = openList(entry, now)
  const applied = opened.list.apply(operation, stored)
  if (applied.kind === 'needs') {
    const { stored: runs } = opened.list
    const { needs } = applied
    return { needs: needs === 'all' ? runs.flatMap(placesOf) : needs.places, stored: runs }
  }
  const { description = opened.head.description, explanation = opened.head.explanation } = operation
  const isRight = operation.length === undefined || operation.length === opened.list.length
  return {
    entry: { kind: 'list', list: opened.list, head: { ...opened.head, description, explanation } },
    diverged: applied.kind === 'diverged' || !isRight,
  }
}

function storedEntry(before: ReadonlyMap<string, JsonText>, name: string): Entry {
  const head = before.get(listMetaKey(name))
  if (head !== undefined) return { kind: 'list', ...openStored(head) }
  const value = before.get(name)
  return value === undefined ? { kind: 'absent' } : { kind: 'value', value: uncoveredValue(value) }
}

function openList(entry: Entry, now: number): OpenReplicaList {
  if (entry.kind === 'list') return entry
  const head = { length: 0, created_at: new Date(now).toISOString(), description: '', explanation: '' }
  return { head, list: new ReplicaList([]) }
}

function openStored(head: JsonText): OpenReplicaList {
  const given = JSON.parse(head) as ListHead
  return { head: given, list: new ReplicaList(runsOf(given)) }
}

async function save(
  tx: Transaction,
  { actorId, peerId }: RemoteAddress,
  before: ReadonlyMap<string, JsonText>,
  entries: ReadonlyMap<string, Entry>,
  now: number,
): Promise<void> {
  const bucket = remoteBucket(peerId)
  const writes: KeyWrite[] = []
  const deletes: string[] = []
  for (const [name, entry] of entries) {
    const oldHead = before.get(listMetaKey(name))
    const oldRuns = oldHead === undefined ? [] : openStored(oldHead).list.stored
    if (entry.kind === 'list') {
      const { list } = entry
      const layout = list.layout()
      for (const { place, source } of layout.writes) {
        const key = listItemKey(name, place)
        writes.push(typeof source === 'number' ? [key, null, listItemKey(name, source)] : [key, source.item, null])
      }
      writes.push([listMetaKey(name), headText(entry.head, list.length, layout.runs, now), null])
      for (const place of placesWithout(oldRuns, layout.runs)) deletes.push(listItemKey(name, place))
      if (before.has(name)) deletes.push(name)
      continue
    }
    if (oldHead !== undefined) deletes.push(listMetaKey(name))
    for (const place of oldRuns.flatMap(placesOf)) deletes.push(listItemKey(name, place))
    if (entry.kind === 'value') writes.push([name, coveredValue(entry.value), null])
    else if (before.has(name)) deletes.push(name)
  }
  await writeKeys(tx, actorId, bucket, writes, now)
  await deleteKeys(tx, actorId, bucket, deletes)
}

function headText(head: ListHead, length: number, runs: readonly Run[], now: number): JsonText {
  const [first, ...more] = runs
  const isInPlace = first === undefined || (first[0] === 0 && more.length === 0)
  return known(
    JSON.stringify({
      length,
      ...(isInPlace ? {} : { runs }),
      version: '1.0',
      item_type: 'json',
      chunk_size: 1,
      created_at: head.created_at,
      updated_at: new Date(now).toISOString(),
      description: head.description,
      explanation: head.explanation,
    }),
  )
}

/** The content of a snapshot: every name in the scope. A name that is missing was deleted at the peer. */
export type Fetched = ReadonlyMap<string, Content>

/** Replaces all copied data in the scope by the snapshot. */
export async function replaceAll(
  tx: Transaction,
  { actorId, peerId }: RemoteAddress,
  scope: Scope,
  fetched: Fetched,
  now: number,
): Promise<void> {
  const bucket = remoteBucket(peerId)
  const storable = [...fetched].filter(([name]) => isStorableName(name))
  if (scope.subtarget !== '') {
    const changes = storable.flatMap(([name, content]) => replacement(scope, name, content))
    const isGone = !fetched.has(scope.subtarget)
    await applyChanges(tx, { actorId, peerId }, isGone ? [goneChange(scope)] : changes, now)
    return
  }
  const before = await findAllKeys(tx, actorId, bucket)
  const kept = new Set(storable.flatMap(([name, { kind }]) => (kind === 'kept' ? [name] : [])))
  const writes = new Map<string, JsonText>()
  for (const [name, content] of storable) {
    if (content.kind === 'value') writes.set(name, coveredValue(content.value))
    if (content.kind !== 'list') continue
    for (const [index, item] of content.items.entries()) writes.set(listItemKey(name, index), item)
    const old = before.get(listMetaKey(name))
    const { head } = old === undefined ? openList({ kind: 'absent' }, now) : openStored(old)
    const { description = head.description, explanation = head.explanation, items } = content
    writes.set(
      listMetaKey(name),
      headText({ ...head, description, explanation }, items.length, [[0, items.length]], now),
    )
  }
  const changed = [...writes].filter(([key, data]) => before.get(key) !== data)
  await writeKeys(
    tx,
    actorId,
    bucket,
    changed.map(([key, data]) => [key, data, null]),
    now,
  )
  const gone = [...before.keys()].filter((key) => !writes.has(key) && !kept.has(nameOfKey(key).name))
  await deleteKeys(tx, actorId, bucket, gone)
}

function replacement({ resource }: Scope, name: string, content: Content): ReplicaChange[] {
  switch (content.kind) {
    case 'kept':
      return []
    case 'list':
      return [{ name, kind: 'items', items: content.items }]
    case 'value':
      // The previous content is removed first, because a list may have become a value.
      return resource === ''
        ? [
            { name, kind: 'remove' },
            { name, kind: 'set', value: content.value },
          ]
        : [{ name, kind: 'put', below: [resource], value: content.value }]
    default:
      return content satisfies never
  }
}

function goneChange({ subtarget, resource }: Scope): ReplicaChange {
  return resource === ''
    ? { name: subtarget, kind: 'remove' }
    : { name: subtarget, kind: 'put', below: [resource], value: null }
}

/** Deletes the copies of the names that `isRemoved` selects. */
export async function removeNames(
  tx: Transaction,
  { actorId, peerId }: RemoteAddress,
  isRemoved: (name: string, kind: 'value' | 'list') => boolean,
): Promise<void> {
  const bucket = remoteBucket(peerId)
  const keys = [...(await findAllKeys(tx, actorId, bucket)).keys()]
  const removed = keys.filter((key) => {
    const { name, kind } = nameOfKey(key)
    return isRemoved(name, kind === 'value' ? 'value' : 'list')
  })
  await deleteKeys(tx, actorId, bucket, removed)
}

export async function removeAll(tx: Transaction, { actorId, peerId }: RemoteAddress): Promise<void> {
  await deleteBucket(tx, actorId, remoteBucket(peerId))
}

/** A name of the copy: a value, or a list with its items. */
export type RemoteValue =
  | { readonly kind: 'value'; readonly value: JsonText }
  | { readonly kind: 'list'; readonly items: readonly JsonText[] }

/** Reads the whole copy of a peer's data, by name. */
export async function readRemote(
  q: Queries,
  { actorId, peerId }: RemoteAddress,
): Promise<ReadonlyMap<string, RemoteValue>> {
  const keys = await findAllKeys(q, actorId, remoteBucket(peerId))
  const found = new Map<string, RemoteValue>()
  for (const [key, data] of keys) {
    const { name, kind } = nameOfKey(key)
    if (kind === 'value') found.set(name, { kind: 'value', value: uncoveredValue(data) })
    if (kind === 'meta') found.set(name, { kind: 'list', items: itemsOf(keys, name, openStored(data).list.stored) })
  }
  return found
}

/** Reads the copied values of these names. Null: a list, or not in the copy. */
export async function readRemoteValues(
  q: Queries,
  { actorId, peerId }: RemoteAddress,
  names: readonly string[],
): Promise<ReadonlyMap<string, JsonText | null>> {
  const stored = await findKeys(q, actorId, remoteBucket(peerId), names)
  return new Map(
    names.map((name) => {
      const value = stored.get(name)
      return [name, value === undefined ? null : uncoveredValue(value)]
    }),
  )
}

/** Shows the copy to test clients, with the items of a list by their positions. */
export const remoteForm: AttributeForm = {
  prefix: remoteBucket(''),
  shown(stored) {
    const shown = new Map([...stored].filter(([key]) => nameOfKey(key).kind !== 'item'))
    for (const [key, { data, timestamp }] of stored) {
      const { name, kind } = nameOfKey(key)
      if (kind !== 'meta') continue
      const { head, list } = openStored(data)
      const { runs: _runs, ...wire } = head
      shown.set(key, { data: known(JSON.stringify(wire)), timestamp })
      for (const [position, place] of list.stored.flatMap(placesOf).entries()) {
        const item = stored.get(listItemKey(name, place))
        if (item !== undefined) shown.set(listItemKey(name, position), item)
      }
    }
    return shown
  },
}

/** Reads one name of the copy. Null: the name is not in the copy. */
export async function readRemoteName(
  q: Queries,
  { actorId, peerId }: RemoteAddress,
  name: string,
): Promise<RemoteValue | null> {
  const bucket = remoteBucket(peerId)
  const found = await findKeys(q, actorId, bucket, [name, listMetaKey(name)])
  const head = found.get(listMetaKey(name))
  if (head === undefined) {
    const value = found.get(name)
    return value === undefined ? null : { kind: 'value', value: uncoveredValue(value) }
  }
  const { stored } = openStored(head).list
  const keys = stored.flatMap(placesOf).map((place) => listItemKey(name, place))
  return { kind: 'list', items: itemsOf(await findKeys(q, actorId, bucket, keys), name, stored) }
}

/** Reads a copied value. `list`: the name is a list. Null: the name is not in the copy. */
export async function readRemoteValue(
  q: Queries,
  { actorId, peerId }: RemoteAddress,
  name: string,
): Promise<JsonText | 'list' | null> {
  const found = await findKeys(q, actorId, remoteBucket(peerId), [name, listMetaKey(name)])
  if (found.has(listMetaKey(name))) return 'list'
  const value = found.get(name)
  return value === undefined ? null : uncoveredValue(value)
}

/** Items of a copied list, and the number of all its items. */
export interface RemoteItems {
  readonly items: readonly JsonText[]
  readonly length: number
}

/**
 * Reads the items of a copied list from `start` up to but not including `end`, as `Array.slice` does. Null: the copy does not
 * contain the list.
 */
export async function readRemoteItems(
  q: Queries,
  { actorId, peerId }: RemoteAddress,
  name: string,
  start: number,
  end?: number,
): Promise<RemoteItems | null> {
  const bucket = remoteBucket(peerId)
  const head = (await findKeys(q, actorId, bucket, [listMetaKey(name)])).get(listMetaKey(name))
  if (head === undefined) return null
  const { stored, length } = openStored(head).list
  const runs = runsBetween(stored, positionOf(start, length), positionOf(end ?? length, length))
  const keys = runs.flatMap(placesOf).map((place) => listItemKey(name, place))
  return { items: itemsOf(await findKeys(q, actorId, bucket, keys), name, runs), length }
}

export interface RemoteRange extends RemoteItems {
  /** The position of the first item. */
  readonly from: number
  /** The places of the items, which stay when others are deleted. */
  readonly places: readonly number[]
}

/** The items of a page, which begins after the last item that was read and still exists. Null: the copy has no such list. */
export async function readRemoteRange(
  q: Queries,
  { actorId, peerId, name }: RemoteAddress & { readonly name: string },
  { position, anchors }: PageStart,
  limit: number,
): Promise<RemoteRange | null> {
  const bucket = remoteBucket(peerId)
  const head = (await findKeys(q, actorId, bucket, [listMetaKey(name)])).get(listMetaKey(name))
  if (head === undefined) return null
  const { stored, length } = openStored(head).list
  const present = anchors.length === 0 ? [] : stored.flatMap(placesOf)
  const last = anchors.findLast((place) => present.includes(place))
  const from = Math.min(length, last === undefined ? (anchors.length === 0 ? position : 0) : present.indexOf(last) + 1)
  const runs = runsBetween(stored, from, Math.min(length, from + limit))
  const places = runs.flatMap(placesOf)
  const keys = places.map((place) => listItemKey(name, place))
  return { items: itemsOf(await findKeys(q, actorId, bucket, keys), name, runs), places, from, length }
}

/** A negative index counts from the end. */
function positionOf(index: number, length: number): number {
  return Math.min(length, Math.max(0, Math.trunc(index < 0 ? length + index : index)))
}

function itemsOf(keys: ReadonlyMap<string, JsonText>, name: string, stored: readonly Run[]): JsonText[] {
  return stored.flatMap(placesOf).map((place) => keys.get(listItemKey(name, place)) ?? known('null'))
}

/** Whether a value is the marker that a listing shows in place of a list's items. */
export function isListMarker(value: JsonText): boolean {
  return members(value)?.get('_list') === 'true'
}
