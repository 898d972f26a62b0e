/** Lists as a kind of property: handles requests to the name of a list. */
import { checkListName, checkName } from '../../actor/property-name.ts'
import { ServiceError } from '../../errors.ts'
import { array, type JsonText, known, stringText } from '../../json/json.ts'
import { readTexts } from '../../list/list-texts.ts'
import {
  bulk,
  type BulkEntry,
  factsOf,
  listMetadata,
  type ListTexts,
  makeList,
  parseIndex,
  readBulk,
} from '../../list/list.ts'
import type { BulkStep, PropertyMethods } from '../kind.ts'
import { listRemoval } from './list-diff.ts'
import { arrayPieces, listArray } from './list-json.ts'
import type { ListReading } from './list-reader.ts'
import { recordAll, requireOnlyAdded } from './list-writer.ts'
import { propertyNotFound, rejectedWrite } from '../property-errors.ts'

export const listKind: PropertyMethods = {
  description: 'A list of the actor',
  holdsItems: true,
  itemCount: ({ name, content }) => listMetadata(name, content).length,

  /** A damaged list has an error here, so that the rest of the listing stays readable. Reading the list itself fails. */
  entry({ name, content }) {
    try {
      return known(JSON.stringify({ _list: true, count: listMetadata(name, content).length }))
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'list_corrupted')
        return known('{"_list":true,"count":null,"error":"list_corrupted"}')
      throw error
    }
  },

  removal: listRemoval,

  async read({ listReader, gate, versions }, access, property, { path, index, isShort, isKnown }) {
    const { name } = property
    const { actor } = access
    const hasNoHooks = gate.hasNoHooks(access, 'get', name)
    const shown = (version: string, json: JsonText): string => (hasNoHooks ? version : versions.ofShown(version, json))
    const [, position, ...deeper] = path
    if (position !== undefined || index !== undefined) {
      const at = position === undefined ? signedIndex(index ?? '') : deeper.length > 0 ? null : parseIndex(position)
      const found = at === null ? null : await listReader.itemRow(access, name, at, { fromEnd: true })
      if (found === null) return null
      const { item, row } = found
      return { json: item, isWhole: false, version: () => shown(versions.ofItem(actor, name, row), item) }
    }
    const version = (): string => versions.ofWhole(actor, property)
    // A damaged list is an error, also for a client that names every version.
    if (hasNoHooks && isKnown?.(versions.of(actor, property).whole) === true)
      return { json: known('[]'), isWhole: true, version }
    if (isShort === true) {
      const metadata = await listReader.metadata(access, name)
      if (metadata === null) return null
      const json = factsOf(metadata)
      return { json, isWhole: true, version: () => shown(version(), json) }
    }
    const reading = await listReader.openFound(access, property)
    if (reading === null) return null
    if (!reading.isComplete) return { pieces: arrayPieces(reading), version: () => (hasNoHooks ? version() : null) }
    const json = listArray(reading)
    return { json, isWhole: true, version: () => shown(version(), json) }
  },

  async resource({ listReader }, access, { name }, { from, count }) {
    const start = from ?? 0
    const reading = await listReader.open(access, name, { from: start, to: start + count })
    if (reading === null) return null
    const { items, end } = await itemsThatFit(reading, start + count)
    const { length } = reading.metadata
    return { json: array(items), next: length <= end ? null : { from: end, length } }
  },

  async put({ listWriter }, access, { path, index }, item) {
    const [name = '', position, ...deeper] = path
    if (deeper.length > 0) throw new ServiceError('conflict', 'Cannot write inside a list item: replace the item')
    const at = parseIndex(position ?? index ?? '')
    if (at === null)
      throw new ServiceError('invalid_index', 'Cannot write the item: its index is not a whole number of at least 0')
    if (item === 'null') throw new ServiceError('invalid_value', 'Cannot write the item: it is null')
    if (!(await listWriter.update(access, name, at, item, { orAppend: true })))
      throw propertyNotFound([name, String(at)])
  },

  async add({ listWriter }, access, path, item) {
    const [name = '', ...below] = path
    if (below.length > 0) throw new ServiceError('conflict', 'Cannot add inside a list item: append to the list')
    if (item === 'null') throw new ServiceError('invalid_value', 'Cannot append to the list: the item is null')
    const added = await listWriter.append(access, name, item)
    return { value: added.item, position: added.index }
  },

  async remove({ listWriter }, access, { path, index }, expected) {
    const [name = '', position, ...deeper] = path
    if (position === undefined && index === undefined) return listWriter.remove(access, name, { expected })
    const at = deeper.length > 0 ? null : parseIndex(position ?? index ?? '')
    if (at === null || !(await listWriter.deleteItem(access, name, at))) throw propertyNotFound(path)
    return true
  },

  /** `{"_type":"list"}` creates a list, and `{"items":[…]}` changes the items of a list. */
  bulkStep(name, fields) {
    if (fields.get('_type') === '"list"') return creation(name, readTexts(fields))
    const items = fields.get('items')
    return items === undefined ? null : itemChanges(name, readBulk(items))
  },
}

/** Parses an index. A negative index counts from the end. */
function signedIndex(text: string): number | null {
  return /^-[0-9]+$/.test(text) ? -(parseIndex(text.slice(1)) ?? 0) : parseIndex(text)
}

function creation(name: string, texts: ListTexts): BulkStep {
  const step: BulkStep = {
    right: 'write',
    checkName: () => checkListName(name),
    async runHooks({ gate, declared }, access, operation) {
      declared.of(access.actor).requireList(name)
      if ((await gate.runHooks(access, operation, [name], known('[]'))) === null) throw rejectedWrite([name])
      return step
    },
    async store(tx, actor, record, { declared, now }) {
      const at = declared.of(actor).addressOf(actor.id, name)
      await declared.of(actor).ensureList(tx, at, now)
      recordAll(record, name, [(await makeList(tx, at, texts, now)).change])
      return stringText('[Empty list property created]')
    },
  }
  return step
}

/** A step that changes items. An update appends or replaces, depending on the length, so it first requires `append`. */
function itemChanges(name: string, entries: readonly BulkEntry[], isOnlyAdding = false): BulkStep {
  return {
    right: entries.every(({ item }) => item !== null) ? 'append' : 'write',
    checkName: () => checkName(name),
    async onlyAdding({ listWriter }, access) {
      const indexes = entries.map(({ index }) => index)
      await listWriter.requireBehindLast(access, name, indexes)
      return itemChanges(name, entries, true)
    },
    async runHooks({ listWriter }, access) {
      return itemChanges(name, await listWriter.runBulkHooks(access, name, entries), isOnlyAdding)
    },
    async store(tx, actor, record, { access, declared, now }): Promise<JsonText> {
      if (entries.length === 0) return stringText('[No items to update]')
      const at = declared.of(access.actor).addressOf(actor.id, name)
      await declared.of(access.actor).ensureList(tx, at, now)
      const { updated, deleted, changes } = await bulk(tx, at, entries, now)
      if (isOnlyAdding) requireOnlyAdded(access, name, changes)
      recordAll(record, name, changes)
      return stringText(`[Bulk update: ${updated} items updated, ${deleted} items deleted]`)
    },
  }
}

/** The most characters of items in one result, unless the first item is longer. */
const maxCharacters = 1_048_576

/** The items until `last`, or until the index `end` of the first item that does not fit into one result. */
async function itemsThatFit(
  reading: ListReading,
  last: number,
): Promise<{ readonly items: readonly JsonText[]; readonly end: number }> {
  const items: JsonText[] = []
  let left = maxCharacters
  for await (const page of reading.pages())
    for (const { index, item } of page) {
      left -= item.length
      if (left < 0 && items.length > 0) return { items, end: index }
      items.push(item)
    }
  return { items, end: last }
}
