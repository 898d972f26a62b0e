/**
 * Brings the properties, lists and records with content of an archive into an actor that exists, as changes of its owner: hooks, schemas,
 * subscriptions, history and limits apply. What is there already stays as it is, so a repeated import continues.
 */
import { isTemporary, ServiceError } from '../errors.ts'
import { equal } from '../json/equal.ts'
import type { JsonText } from '../json/json.ts'
import type { ArchivedItem } from '../list/list.ts'
import type { Log } from '../observe/log.ts'
import type { Access } from '../property/access.ts'
import type { PropertyModule } from '../property/create.ts'
import { noVersion } from '../property/version.ts'
import type { ContentKind, RecordRow } from '../table/record-kind.ts'
import { contentKindsOf, type WithTables } from '../table/table.ts'
import type { RecordReader } from './archive-reader.ts'
import {
  archivedValue,
  archivedVersion,
  contentAfter,
  contentRowOf,
  itemOf,
  unusableArchive,
} from './archived-content.ts'
import { count, keep, type MergeReport, type NamedRecord, refuse } from './merge-report.ts'
import { type ArchiveMembers, recordText } from './record-rows.ts'

/** How an import treats content of the actor that differs from the archive. */
export type Existing = 'keep' | 'replace'

/** Imports the records with content of one kind, as changes of the owner. */
export interface RecordImport {
  readonly kind: NamedRecord['kind']
  readonly put: (
    access: Access,
    existing: Existing,
    row: RecordRow,
    bytes: AsyncIterable<Uint8Array>,
  ) => Promise<'imported' | 'same' | 'kept'>
}

export interface MergeDeps
  extends WithTables,
    Pick<PropertyModule, 'properties' | 'listReader' | 'listWriter' | 'declared'> {
  readonly recordImports: readonly RecordImport[]
  readonly log: Log
  /** The largest value or item, as in a request. */
  readonly maxValueBytes: number
}

/** How far an import is. A later run continues from here. */
export interface MergeProgress {
  /** Records that need no further look. */
  position: number
  /** Items of the list at the position that this import has added. */
  added: number
  /** Numbers of the items of that list that the actor refused. Without them, a list that continues would look different. */
  refusedItems: number[]
  readonly report: MergeReport
}

export interface MergePlan {
  readonly access: Access
  readonly existing: Existing
  readonly signal: AbortSignal
  /** Called after each step, so that the progress can be stored. `must`: before the import changes anything else. */
  readonly step: (progress: MergeProgress, must?: 'must') => Promise<void>
}

/** Opens the archive from its start. */
export type OpenArchive = () => Promise<RecordReader>

/** Values that are written at the same time. */
const atOnce = 16
/** Items of the actor that are compared at a time. */
const comparedItems = 512
/** Refused items of a list that the progress keeps. A list with more of them does not continue after a crash. */
const maxRefused = 1000

/** @throws ServiceError when the store or the storage for files cannot be used now; what `step` throws. */
export async function mergeArchive(
  deps: MergeDeps,
  plan: MergePlan,
  open: OpenArchive,
  progress: MergeProgress,
): Promise<void> {
  const merge = new Merge(deps, plan, progress)
  const replaced =
    plan.existing === 'replace' ? await reading(open, (records) => merge.findDifferent(records)) : new Set<string>()
  await reading(open, (records) => merge.run(records, replaced))
}

async function reading<T>(open: OpenArchive, work: (records: RecordReader) => Promise<T>): Promise<T> {
  const records = await open()
  try {
    return await work(records)
  } finally {
    await records.close()
  }
}

type ValueOutcome = 'imported' | 'same' | 'kept' | { readonly refused: unknown }
type Comparison = 'equal' | 'shorter' | 'longer' | 'different'

class Merge {
  readonly #deps: MergeDeps
  readonly #plan: MergePlan
  readonly #progress: MergeProgress
  #refusedSinceStored = false
  /** Names in the form NFC that records in another form have got. */
  readonly #composed = new Set<string>()

  constructor(deps: MergeDeps, plan: MergePlan, progress: MergeProgress) {
    this.#deps = deps
    this.#plan = plan
    this.#progress = progress
  }

  /** The lists of the actor that have other items than the archive, or more. Changes nothing. */
  async findDifferent(records: RecordReader): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    for (let ahead = await records.peek(); ahead !== undefined; ahead = await records.peek()) {
      this.#plan.signal.throwIfAborted()
      await records.next()
      if (ahead.kind !== 'list') continue
      const name = await this.#nameOf(recordText(ahead.members, 'list', 'name'))
      if ((await this.#kindOf(name)) !== 'list') continue
      const compared = await this.#compare(records, name).catch((error: unknown) => this.#rethrow(error))
      if (compared?.result === 'longer' || compared?.result === 'different') found.add(name)
    }
    return found
  }

  /** @param replaced Lists that the archive replaces. */
  async run(records: RecordReader, replaced: ReadonlySet<string>): Promise<void> {
    const progress = this.#progress
    while (records.count < progress.position)
      if ((await records.next()) === undefined) throw unusableArchive('it was cut')
    for (let ahead = await records.peek(); ahead !== undefined; ahead = await records.peek()) {
      this.#plan.signal.throwIfAborted()
      await this.#readKind(records, ahead.kind, replaced)
      progress.position = records.count
      progress.added = 0
      progress.refusedItems = []
      await this.#plan.step(progress)
    }
  }

  async #readKind(records: RecordReader, kind: string, replaced: ReadonlySet<string>): Promise<void> {
    if (kind === 'property') return this.#values(await records.batch(kind))
    if (kind === 'list') return this.#list(records, replaced)
    const withContent = contentKindsOf(this.#deps.tables).find((one) => one.kind === kind)
    const imported = this.#deps.recordImports.find((one) => one.kind === kind)
    if (withContent !== undefined && imported !== undefined) return this.#content(records, withContent, imported)
    if (kind === 'archive' || kind === 'end') return void (await records.next())
    const leftOut = (await records.batch(kind)).length
    // The content of a record that this service does not know belongs to that record.
    if (kind !== 'bytes') count(this.#progress.report.leftOut, kind, leftOut)
  }

  async #values(given: readonly ArchiveMembers[]): Promise<void> {
    const { report } = this.#progress
    for (let at = 0; at < given.length; at += atOnce) {
      const some: { readonly record: NamedRecord; readonly given: ArchiveMembers }[] = []
      // The names are found in order, so that two forms of one name do not depend on the time of their writes.
      for (const one of given.slice(at, at + atOnce)) {
        const record = await this.#named('property', one)
        if (record !== null) some.push({ record, given: one })
      }
      for (const { record, outcome } of await Promise.all(some.map((one) => this.#value(one)))) {
        if (outcome === 'kept') keep(report, record)
        else if (typeof outcome === 'string') count(report[outcome], 'property')
        else this.#refuse(record, outcome.refused)
      }
    }
  }

  /** The record under the name that a request would mean (`StoredNames.of`). Null: refused, as in the body of a request. */
  async #named(kind: 'property' | 'list', members: ArchiveMembers): Promise<NamedRecord | null> {
    const given = recordText(members, kind, 'name')
    const name = await this.#nameOf(given)
    const isTwice = this.#composed.has(name)
    if (name !== given) this.#composed.add(name)
    if (!isTwice) return { kind, name }
    this.#refuse(
      { kind, name: given },
      new ServiceError('invalid_name', 'The archive has this name in two Unicode forms'),
    )
    return null
  }

  async #nameOf(name: string): Promise<string> {
    return this.#deps.properties.nameOf(this.#plan.access.actor.id, name)
  }

  async #value({
    record,
    given,
  }: {
    readonly record: NamedRecord
    readonly given: ArchiveMembers
  }): Promise<{ readonly record: NamedRecord; readonly outcome: ValueOutcome }> {
    const { properties, declared } = this.#deps
    const { access, existing } = this.#plan
    const { name } = record
    try {
      const stored = { name, kind: 'value' as const, content: archivedValue(given, 'property') }
      const value = declared
        .of(this.#plan.access.actor)
        .current({ ...stored, version: archivedVersion(given, 'property') }).content
      this.#requireSize(value)
      const { found, version } = await properties.getWithVersion(access, name)
      if (found !== null && found.value !== null && equal(found.value, value)) return { record, outcome: 'same' }
      // A hook may hide a value that is there.
      if (version.whole !== noVersion && existing === 'keep') return { record, outcome: 'kept' }
      const isList = found !== null && found.value === null
      if (isList) await properties.remove(access, { path: [name] }, { expected: version.whole })
      await properties.put(access, { path: [name] }, value, { expected: isList ? noVersion : version.whole })
      return { record, outcome: 'imported' }
    } catch (error) {
      this.#rethrow(error)
      return { record, outcome: { refused: error } }
    }
  }

  async #list(records: RecordReader, replaced: ReadonlySet<string>): Promise<void> {
    const { access, existing } = this.#plan
    const { report } = this.#progress
    const given = (await records.next())?.members ?? new Map<string, JsonText>()
    const record = await this.#named('list', given)
    if (record === null) return skip(records, 'item')
    const { name } = record
    const isReady = await this.#attempt(record, async () => {
      const kind = await this.#kindOf(name)
      if (kind === 'other' && existing === 'keep') {
        keep(report, record)
        return 'skip'
      }
      const isNew = kind === 'none' || kind === 'other' || replaced.has(name)
      if (kind === 'other') await this.#deps.properties.remove(access, { path: [name] })
      else if (replaced.has(name)) await this.#deps.listWriter.remove(access, name)
      if (isNew) await this.#create(name, given)
      return isNew ? 'new' : 'there'
    })
    if (isReady === 'new' || isReady === 'there') await this.#items(records, record, isReady === 'new')
    else await skip(records, 'item')
  }

  async #create(name: string, given: ArchiveMembers): Promise<void> {
    const texts = {
      description: recordText(given, 'list', 'description'),
      explanation: recordText(given, 'list', 'explanation'),
    }
    await this.#deps.listWriter.create(this.#plan.access, name, texts)
    count(this.#progress.report.imported, 'list')
  }

  async #items(records: RecordReader, record: NamedRecord, isNew: boolean): Promise<void> {
    const { report, added } = this.#progress
    const compared = isNew
      ? { result: 'shorter' as const, equalItems: 0, rest: [] }
      : await this.#attempt(record, () => this.#compare(records, record.name))
    if (compared === undefined) return skip(records, 'item')
    const { result, equalItems, rest } = compared
    if (result === 'different') {
      keep(report, record)
      return skip(records, 'item')
    }
    const isRefused = new Set(this.#progress.refusedItems)
    // The report has the items that an earlier run has added.
    count(report.same, 'item', equalItems - Math.min(added, equalItems))
    if (!isNew && result !== 'shorter' && added === 0) count(report.same, 'list')
    let more = rest
    if (more.length === 0) more = await this.#nextItems(records)
    for (; more.length > 0; more = await this.#nextItems(records)) {
      await this.#append(
        record,
        more.filter(({ item }) => !isRefused.has(item)),
      )
      await this.#plan.step(this.#progress)
      this.#plan.signal.throwIfAborted()
    }
  }

  /** Appends items. When the actor refuses them together, each half is tried alone, so that the others come in. */
  async #append(record: NamedRecord, items: readonly ArchivedItem[]): Promise<void> {
    if (items.length === 0) return
    // An error of the step is not a refusal of the items: another process may have the import.
    if (this.#refusedSinceStored) await this.#plan.step(this.#progress, 'must')
    this.#refusedSinceStored = false
    try {
      await this.#add(record.name, items)
    } catch (error) {
      this.#rethrow(error)
      const half = items.length >> 1
      if (half === 0) return this.#refuseItem(record, items, error)
      await this.#append(record, items.slice(0, half))
      await this.#append(record, items.slice(half))
    }
  }

  async #add(name: string, items: readonly ArchivedItem[]): Promise<void> {
    const { listWriter, declared } = this.#deps
    const format = declared.of(this.#plan.access.actor).formatOf(name)
    const values = items.map(({ value, version }) => (format === null ? value : format.upgrade(value, version)))
    for (const value of values) this.#requireSize(value)
    await listWriter.extend(this.#plan.access, name, values, { create: true })
    this.#progress.added += items.length
    count(this.#progress.report.imported, 'item', items.length)
  }

  #refuseItem({ name }: NamedRecord, [refused]: readonly ArchivedItem[], error: unknown): void {
    const { refusedItems } = this.#progress
    this.#refuse({ kind: 'item', name }, error)
    if (refused !== undefined && refusedItems.length < maxRefused) refusedItems.push(refused.item)
    this.#refusedSinceStored = true
  }

  /** Compares the items of the archive with those of the actor, until one of them ends or they differ. */
  async #compare(
    records: RecordReader,
    name: string,
  ): Promise<{ readonly result: Comparison; readonly equalItems: number; readonly rest: readonly ArchivedItem[] }> {
    const format = this.#deps.declared.of(this.#plan.access.actor).formatOf(name)
    const own = this.#ownItems(name)
    // `records` has just read the list.
    const refused = new Set(records.count - 1 === this.#progress.position ? this.#progress.refusedItems : [])
    let equalItems = 0
    for (let items = await this.#nextItems(records); items.length > 0; items = await this.#nextItems(records)) {
      for (const [at, { item, value, version }] of items.entries()) {
        if (refused.has(item)) continue
        const there = (await own.next()).value
        if (there === undefined) return { result: 'shorter', equalItems, rest: items.slice(at) }
        if (!equal(there, format === null ? value : format.upgrade(value, version)))
          return { result: 'different', equalItems, rest: [] }
        equalItems += 1
      }
      this.#plan.signal.throwIfAborted()
    }
    return { result: (await own.next()).done === true ? 'equal' : 'longer', equalItems, rest: [] }
  }

  async *#ownItems(name: string): AsyncGenerator<JsonText, undefined> {
    for await (const page of this.#deps.listReader.pages(this.#plan.access, name, comparedItems))
      for (const { item } of page) yield item
  }

  async #nextItems(records: RecordReader): Promise<readonly ArchivedItem[]> {
    return (await records.batch('item')).map(itemOf)
  }

  async #content(records: RecordReader, kind: ContentKind, by: RecordImport): Promise<void> {
    const { access, existing } = this.#plan
    const { report } = this.#progress
    const row = contentRowOf(kind, (await records.next())?.members ?? new Map())
    const record = { kind: by.kind, name: String(row['name']) }
    await this.#attempt(record, async () => {
      const outcome = await by.put(access, existing, row, contentAfter(records))
      if (outcome === 'kept') keep(report, record)
      else count(report[outcome], by.kind)
    })
    await skip(records, 'bytes')
  }

  async #kindOf(name: string): Promise<'none' | 'list' | 'other'> {
    const { found, version } = await this.#deps.properties.getWithVersion(this.#plan.access, name)
    if (found === null) return version.whole === noVersion ? 'none' : 'other'
    return found.value === null ? 'list' : 'other'
  }

  /** Notes a refusal in the report. Undefined: refused. */
  async #attempt<T>(record: NamedRecord, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#rethrow(error)
      this.#refuse(record, error)
      return undefined
    }
  }

  #requireSize(value: JsonText): void {
    const { maxValueBytes } = this.#deps
    if (Buffer.byteLength(value) > maxValueBytes)
      throw new ServiceError('payload_too_large', `Cannot store the value: it has more than ${maxValueBytes} bytes`)
  }

  #refuse(record: NamedRecord, error: unknown): void {
    refuse(this.#progress.report, record, error)
    if (error instanceof ServiceError) return
    const facts = { error, actorId: this.#plan.access.actor.id, ...record }
    this.#deps.log.error(facts, 'A hook failed during an import; the archive’s content is left out')
  }

  /** Throws what says nothing about the record. */
  #rethrow(error: unknown): void {
    this.#plan.signal.throwIfAborted()
    if (isTemporary(error) || (error instanceof ServiceError && error.code === 'actor_not_found')) throw error
  }
}

async function skip(records: RecordReader, kind: string): Promise<void> {
  while ((await records.batch(kind)).length > 0);
}
