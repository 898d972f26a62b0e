/**
 * The history: what each change of a property or list replaced, with its origin. An entry is stored with its change or not at
 * all (docs/decisions/081). Old entries are deleted in the background.
 */
import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../errors.ts'
import { canBeKept, type ListHistory, type ListSteps, stepsText } from '../list/list.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import { parseOrigin } from '../origin.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Cancel, Timers } from '../timers.ts'
import { type HistoryEntry, entryOf, operationOf } from './entry.ts'
import {
  deleteBefore,
  type EntryRow,
  deleteHistory,
  type EntryFilter,
  type EntryOrigin,
  findEntryNames,
  findHistory,
  keepSteps,
  keepValue,
  keepValues,
  markValues,
  type WrittenSteps,
  type WrittenValue,
} from './history-store.ts'
import { trimActor } from './trim.ts'

export interface HistoryDeps {
  readonly store: Pick<Store, 'read' | 'write' | 'writeActor'>
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  /** 0 turns the history off. */
  readonly maxAgeMs: number
  /** The most entries of an actor. */
  readonly maxPerActor: number
  /** The most characters of the entries of an actor. */
  readonly maxCharacters: number
  /** Whether a hook decides what readers of the property see. */
  readonly isHooked: (actor: { readonly kind: string }, name: string) => boolean
}

/** A value that a change sets, or removes with null. */
export interface ReplacingValue {
  readonly name: string
  readonly value: string | null
  /** Default: the origin of the transaction. */
  readonly origin?: string | undefined
}

/** Keeps what a part of a change replaces, and returns the number of entries. */
export type KeepPart = (values: readonly ReplacingValue[], others: number) => Promise<number>

export interface PropertySize {
  readonly items: number
  readonly characters: number
}

export interface HistoryPage {
  /** Newest first. */
  readonly entries: readonly HistoryEntry[]
  /** Where the next page begins: `HistoryQuery.before`. Null on the last page. */
  readonly next: number | null
}

export interface HistoryQuery extends EntryFilter {
  /** Only entries with lower numbers. */
  readonly before?: number | null | undefined
  /** From 1 to 1000. Default: 100. */
  readonly limit?: number
  /** The most bytes of what the changes of a page replaced. Default: 4 MiB. */
  readonly maxBytes?: number
  /** A page has this many entries also when they have more bytes. Default: 1. */
  readonly least?: number
}

/** The most bytes of a page, unless the query has another number. */
const bytesOfPage = 4_194_304

/** The share of the limit of an actor that one entry may use. */
const shareOfOne = 4
/** The most characters that a removed item needs besides its content. */
const charactersOfStep = 64
/** Changes of an actor after which its entries are counted. */
const changesUntilTrim = 64
const tidyEveryMs = 3_600_000
const maxTouched = 10_000
/** Expired entries that one transaction deletes. */
const batchEntries = 500

export class History implements ListHistory {
  readonly #deps: HistoryDeps
  /** Number of entries of an actor since they were last counted. */
  readonly #touched = new Map<string, number>()
  #running: Promise<void> | undefined
  /** Whether the hourly deletion is to run. It may become due while another one runs. */
  #isHourDue = false
  #cancelTimer: Cancel | undefined

  constructor(deps: HistoryDeps) {
    this.#deps = deps
    if (this.isOn) this.#tidyLater()
  }

  get isOn(): boolean {
    return this.#deps.maxAgeMs > 0
  }

  get #longest(): number {
    return Math.floor(this.#deps.maxCharacters / shareOfOne)
  }

  /**
   * Keeps the values that the next statements replace. Values that stay the same have no entry.
   *
   * @returns the number of entries
   */
  async keepValues(tx: Transaction, actorId: string, values: readonly ReplacingValue[]): Promise<number> {
    const { now } = this.#deps
    const written = this.#written(tx, values)
    const [only] = written
    if (!this.isOn || only === undefined) return 0
    this.#touch(actorId, values.length)
    if (written.length === 1) return keepValue(tx, actorId, only, now(), this.#longest)
    return keepValues(tx, actorId, written, now(), this.#longest)
  }

  /**
   * Like `keepValues`, for a change that replaces many values in parts, each name once.
   *
   * @returns a function for a part. `others` is how many other entries the same change makes: when those alone are as many as
   *   the history may have, only marks are kept.
   */
  keepParts(tx: Transaction, actorId: string): KeepPart {
    let names: ReadonlySet<string> | undefined
    return async (values, others) => {
      if (!this.isOn || this.keepsBeside(others)) return this.keepValues(tx, actorId, values)
      names ??= await findEntryNames(tx, actorId)
      const entries = await markValues(tx, actorId, this.#written(tx, values), this.#deps.now(), names)
      this.#touch(actorId, entries)
      return entries
    }
  }

  #written(tx: Transaction, values: readonly ReplacingValue[]): readonly WrittenValue[] {
    return values.map(({ name, value, origin }) => ({ name, value, ...originOf(origin ?? tx.origin) }))
  }

  readonly keepsBeside = (others: number): boolean => others < this.#deps.maxPerActor

  readonly keep = async (tx: Transaction, actorId: string, changes: readonly ListSteps[]): Promise<void> => {
    if (!this.isOn) return
    const written = changes.map(({ list, listId, version, steps, origin }): WrittenSteps => {
      const text = steps === null ? null : stepsText(listId, steps)
      const isKept = text !== null && text.length <= this.#longest
      return {
        name: list,
        operation: operationOf(steps),
        content: isKept ? text : null,
        characters: text?.length ?? 0,
        version,
        ...originOf(origin ?? tx.origin),
      }
    })
    this.#touch(actorId, written.length)
    await keepSteps(tx, actorId, written, this.#deps.now())
  }

  /** A page of entries, newest first. @throws ServiceError `bad_request` for an invalid limit; `value_corrupted` */
  async page(
    actorId: string,
    { before = null, limit = 100, maxBytes = bytesOfPage, least = 1, ...filter }: HistoryQuery = {},
  ): Promise<HistoryPage> {
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      throw new ServiceError('bad_request', 'Cannot list the history: limit must be from 1 to 1000')
    const { store, now, maxAgeMs } = this.#deps
    const since = Math.max(filter.since ?? 0, now() - maxAgeMs)
    const rows = await store.read((q) => findHistory(q, actorId, { ...filter, since, before, limit, maxBytes, least }))
    const entries = await entriesOf(actorId, rows)
    return { entries, next: (rows[0]?.found ?? 0) > rows.length ? (rows.at(-1)?.seq ?? null) : null }
  }

  /** Like `page`, as the owner may see it: a hook decides about the present value, so older ones are not shown. */
  async shown(actor: { readonly id: string; readonly kind: string }, query: HistoryQuery = {}): Promise<HistoryPage> {
    const { entries, next } = await this.page(actor.id, query)
    const { isHooked } = this.#deps
    return {
      entries: entries.map((entry) =>
        isHooked(actor, entry.name) ? { ...entry, before: null, isHidden: true } : entry,
      ),
      next,
    }
  }

  /** Whether the history has a change by the request. */
  async hasRequest(actorId: string, request: string): Promise<boolean> {
    return (await this.page(actorId, { request, limit: 1 })).entries.length > 0
  }

  /** Whether a property of this size can be put back after its deletion. A value is one item. */
  keepsWhole({ items, characters }: PropertySize): boolean {
    return this.isOn && canBeKept(items, characters) && characters + items * charactersOfStep <= this.#longest
  }

  /** Deletes the history of an actor, or of one property. */
  async forget(actorId: string, name: string | null): Promise<void> {
    await this.#deps.store.writeActor(actorId, (tx) => deleteHistory(tx, actorId, name))
  }

  async stop(): Promise<void> {
    this.#cancelTimer?.()
    await this.#running
  }

  #touch(actorId: string, entries: number): void {
    if (this.#touched.size >= maxTouched && !this.#touched.has(actorId)) this.#touched.clear()
    const count = (this.#touched.get(actorId) ?? 0) + entries
    this.#touched.set(actorId, count)
    if (count >= changesUntilTrim) this.#tidy(false)
  }

  #tidyLater(): void {
    this.#cancelTimer = this.#deps.timers.setTimer(tidyEveryMs, () => {
      this.#tidy(true)
      this.#tidyLater()
    })
  }

  #tidy(isHourly: boolean): void {
    this.#isHourDue ||= isHourly
    this.#running ??= runInBackground(async () => {
      try {
        do {
          const isHour = this.#isHourDue
          this.#isHourDue = false
          await this.#trim(isHour)
          if (isHour) await this.#expire()
        } while (this.#isHourDue)
      } catch (error) {
        this.#deps.log.warn({ error }, 'Cannot delete old entries of the history: the service will retry')
      }
    }).finally(() => {
      this.#running = undefined
    })
  }

  async #trim(isHourly: boolean): Promise<void> {
    const { store, maxPerActor, maxCharacters } = this.#deps
    for (const [actorId, count] of this.#touched) {
      if (!isHourly && count < changesUntilTrim) continue
      this.#touched.delete(actorId)
      await store.write((tx) => trimActor(tx, actorId, maxPerActor, maxCharacters), { durability: 'relaxed' })
    }
  }

  async #expire(): Promise<void> {
    const { store, now, maxAgeMs } = this.#deps
    const expired = (tx: Transaction): Promise<number> => deleteBefore(tx, now() - maxAgeMs, batchEntries)
    while ((await store.write(expired, { durability: 'relaxed' })) >= batchEntries);
  }
}

function originOf(origin: string): EntryOrigin {
  const { by, name = '', request = '' } = parseOrigin(origin) ?? { by: 'application' }
  // The session of the owner is not a caller.
  return { callerKind: by, caller: by === 'creator' ? '' : name, request, origin }
}

/** The most characters that one turn of the event loop parses. A change of a list may name thousands of items. */
const charactersOfTurn = 65_536

async function entriesOf(actorId: string, rows: readonly EntryRow[]): Promise<readonly HistoryEntry[]> {
  const entries: HistoryEntry[] = []
  let characters = 0
  for (const row of rows) {
    characters += row.content?.length ?? 0
    if (characters > charactersOfTurn) {
      characters = 0
      await setImmediate()
    }
    entries.push(entryOf(actorId, row))
  }
  return entries
}
