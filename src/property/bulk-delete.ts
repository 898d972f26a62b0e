/** Deletes all or several properties, in parts that fit into memory. */
import type { Indexes } from '../actor/indexes.ts'
import { ServiceError } from '../errors.ts'
import type { History, KeepPart } from '../history/history.ts'
import { absent } from '../json/absent.ts'
import { array, type JsonText, object } from '../json/json.ts'
import { factsOf, keepDeletions, type ListContent, listMetadata, readManyLists, shortLists } from '../list/list.ts'
import type { Reads } from '../store/read-replicas.ts'
import type { Transaction } from '../store/store.ts'
import type { Access } from './access.ts'
import type { Change, Record } from './change.ts'
import type { KindDeps } from './kind.ts'
import { holdsItems, kinds, valueOf } from './kinds.ts'
import { rejectedDelete } from './property-errors.ts'
import { readNamePages, readPages, shortParts } from './property-pages.ts'
import {
  deleteNamedProperties,
  findNamedProperties,
  type ListedProperty,
  pageRows,
  type StoredProperty,
  type UnreadProperty,
} from './property-store.ts'

export interface BulkDeleteDeps {
  readonly kindDeps: KindDeps
  readonly store: Reads
  readonly indexes: Indexes
  readonly history: Pick<History, 'keepParts'>
  /** Called when a change may have left rows to delete. */
  readonly deleteRemoved: (actorId: string) => void
}

/**
 * The most properties that one transaction deletes. On SQLite, other actors wait for it. What an earlier transaction has deleted
 * stays deleted when a later one fails.
 */
const ofOneTransaction = 2000

/**
 * Removes the properties of these names, or every property with null; or nothing when one of them must stay. Ignores names
 * without a property.
 */
export async function deleteProperties(
  deps: BulkDeleteDeps,
  access: Access,
  names: readonly string[] | null,
): Promise<void> {
  const judged = await requireDeletable(deps, access, names)
  await runHooks(deps, access, judged)
  const { actor, caller } = access
  try {
    if (judged.size <= ofOneTransaction)
      await deleteTogether(deps, access, { names: names === null ? null : [...judged], judged, later: 0 })
    else
      for (let from = 0, all = [...judged]; from < all.length; from += ofOneTransaction) {
        const part = all.slice(from, from + ofOneTransaction)
        const later = all.length - from - part.length
        // The condition is about the properties before the deletion.
        await deleteTogether(deps, from === 0 ? access : { actor, caller }, { names: part, judged, later })
      }
  } finally {
    deps.deleteRemoved(actor.id)
  }
}

interface Together {
  /** Null: all. */
  readonly names: readonly string[] | null
  readonly judged: ReadonlySet<string>
  /** How many properties are deleted by later transactions. */
  readonly later: number
}

async function deleteTogether(deps: BulkDeleteDeps, access: Access, { names, judged, later }: Together): Promise<void> {
  const { id } = access.actor
  await deps.kindDeps.writer.change(access, async (tx, record, _actor, flush) => {
    const reads = { read: <T>(work: (q: Transaction) => Promise<T>): Promise<T> => work(tx) }
    let following = (names ?? [...judged]).length
    if (following > pageRows) {
      // Others may have deleted many of the names meanwhile.
      following = 0
      for await (const page of readNamePages(reads, id, names)) following += page.length
    }
    const keep = deps.history.keepParts(tx, id)
    for await (const page of readPages(reads, id, { isNeeded: ({ kind }) => holdsItems(kind), names }))
      for (const part of shortParts(page)) {
        if (names === null) requireJudged(deps, access, judged, part)
        following = Math.max(0, following - part.length)
        await deletePart(deps, access, { tx, record, keep, following: following + later }, part)
        await flush()
      }
  })
}

/** Requires the right to delete each property, and returns the names. */
async function requireDeletable(
  { store, kindDeps }: BulkDeleteDeps,
  { actor, caller }: Access,
  names: readonly string[] | null,
): Promise<ReadonlySet<string>> {
  const operation = { category: 'properties', right: 'delete' } as const
  const judged = new Set<string>()
  if (names === null) await kindDeps.permission.requireAll(actor.id, caller, operation, [''])
  for await (const page of readNamePages(store, actor.id, names)) {
    const found = page.map(({ name }) => name)
    await kindDeps.permission.requireAll(actor.id, caller, operation, found)
    for (const name of found) judged.add(name)
  }
  return judged
}

/** @throws ServiceError `forbidden` when a hook refuses a deletion. */
async function runHooks(
  { store, kindDeps }: BulkDeleteDeps,
  access: Access,
  names: ReadonlySet<string>,
): Promise<void> {
  const { gate, declared } = kindDeps
  const { id } = access.actor
  const hooked = [...names].filter((name) => !gate.hasNoHooks(access, 'delete', name))
  if (hooked.length === 0) return
  for await (const page of readPages(store, id, { isNeeded: () => true, names: hooked })) {
    const rows = page.flatMap(({ stored }) => stored ?? [])
    const lists = rows.flatMap(({ name, kind }) => (holdsItems(kind) ? name : []))
    // The heads belong to the items, so one snapshot reads both.
    const { heads, items } = await store.snapshot(async (q) => {
      const heads = await findNamedProperties(q, id, lists)
      const texts = new Map([...heads].map(([name, { content }]) => [name, content]))
      return {
        heads,
        items: await readManyLists(q, id, shortLists(texts), (list) => declared.of(access.actor).formatOf(list)),
      }
    })
    for (const row of rows) {
      const property = declared.of(access.actor).current(heads.get(row.name) ?? row)
      const value = valueOf(property) ?? listValue(property, items.get(row.name))
      if ((await gate.runHooks(access, 'delete', [row.name], value)) === null) throw rejectedDelete([row.name])
    }
  }
}

/**
 * Also deletes and records properties that were added since the hooks ran, unless the caller's rules must allow them.
 *
 * @throws ServiceError `conflict`
 */
function requireJudged(
  { kindDeps }: BulkDeleteDeps,
  { caller }: Access,
  judged: ReadonlySet<string>,
  part: readonly ListedProperty[],
): void {
  if (kindDeps.permission.isRuled(caller) && part.some(({ name }) => !judged.has(name)))
    throw new ServiceError('conflict', 'Cannot delete all properties: another request added one meanwhile')
}

interface PartDeletion {
  readonly tx: Transaction
  readonly record: Record
  readonly keep: KeepPart
  /** How many properties the same request deletes after those of this part. */
  readonly following: number
}

/** Deletes properties, and keeps them in the history. */
async function deletePart(
  { kindDeps, indexes }: BulkDeleteDeps,
  { actor }: Access,
  { tx, record, keep, following }: PartDeletion,
  part: readonly ListedProperty[],
): Promise<void> {
  if (part.length === 0) return
  const values = part.filter(({ kind }) => !holdsItems(kind))
  await keep(
    values.map(({ name }) => ({ name, value: null })),
    following,
  )
  await keepDeletions(
    tx,
    actor.id,
    part.flatMap(listsOf).map(({ name, content }) => ({
      at: kindDeps.declared.of(actor).addressOf(actor.id, name),
      head: content,
    })),
    following,
  )
  const names = part.map(({ name }) => name)
  await deleteNamedProperties(tx, actor.id, names)
  await indexes.update(tx, actor.id, new Map(names.map((name) => [name, null])))
  for (const change of removals(part)) record(change)
}

/** More values than this have one change together, so that a subscription gets one diff for a page of values. */
const maxSingle = 64

function removals(part: readonly ListedProperty[]): readonly Change[] {
  const values = part.filter(({ kind }) => kind === 'value')
  const isTogether = values.length > maxSingle
  const single = isTogether ? part.filter(({ kind }) => kind !== 'value') : part
  const blob = object(values.map(({ name }) => [name, absent]))
  return [
    ...(isTogether ? [{ target: 'properties', subtarget: null, resource: null, blob } as const] : []),
    ...single.map(({ name, kind }) => kinds[kind].removal(name)),
  ]
}

function listsOf({ kind, stored }: ListedProperty): readonly UnreadProperty[] {
  return stored !== null && holdsItems(kind) ? [stored] : []
}

/** The value that the hook for the deletion of a list receives: its items, or the metadata of a long list. */
function listValue({ name, content: head }: StoredProperty, content: ListContent | undefined): JsonText {
  return content === undefined ? factsOf(listMetadata(name, head)) : array(content.items)
}
