/**
 * Records accesses in memory and writes them in batches, one statement each. No request waits for the audit log or fails
 * with it. A crash loses the entries of the last second.
 */
import { isTemporary, ServiceError } from '../errors.ts'
import { storableText } from '../json/json.ts'
import type { Cancel, Timers } from '../timers.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { randomBytes } from '../secret/random.ts'
import type { Queries, Store } from '../store/store.ts'
import { type AuditEntry, cursorOf, type AuditLogEntry, dayMs, parseCursor, type Place } from './entry.ts'
import {
  countByDay,
  countByProgram,
  deleteEntriesBefore,
  findDecisions,
  findEntries,
  hasRead,
  putEntries,
  type ReadByPeer,
  trimEntries,
} from './audit-log-store.ts'
import type { ActivityFilter } from './filter.ts'

export interface AuditLogDeps {
  readonly store: Store
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'auditLogDropped'>
  /** Maximum number of entries for an actor; 0 turns the audit log off. */
  readonly maxPerActor: number
  readonly maxAgeMs: number
  /** Adds the names that the callers have now. */
  readonly nameEntries: NameEntries
}

export type NameEntries = (q: Queries, entries: readonly NotedEntry[]) => Promise<readonly AuditLogEntry[]>

export interface AuditLogPage {
  readonly entries: readonly AuditLogEntry[]
  /** Cursor of the next page, with older entries; null on the last page. */
  readonly next: string | null
}

/** The requests of one day (UTC). */
export interface DayOfRequests {
  /** Start of the day, in Unix milliseconds. */
  readonly start: number
  readonly requests: number
  readonly denied: number
}

export interface ActivityQuery extends ActivityFilter {
  readonly cursor?: string | null | undefined
  /** From 1 to 1000. Default: 100. */
  readonly limit?: number
}

const flushEveryMs = 1000
/** Delay after a failure, in milliseconds. */
const retryMs = 5000
/** Number of entries that one statement writes; this many pending entries start a flush at once. */
const batchSize = 500
/** Maximum number of entries in memory; further entries are dropped and counted. */
const maxPending = 10_000
/** Equal accesses within this time share an entry: reads from the second on, writes and calls after `maxAlike`. */
const sameWithinMs = 60_000
const maxAlike = 100
const maxNoted = 5000
/** Attempts to write an entry whose actor is locked or no longer exists. */
const maxTries = 5
const tidyEveryMs = 3_600_000
const maxTouched = 10_000
/** Additional share for anonymous callers and refusals, so that they displace no other entries. */
const shareOfStrangers = 0.1
const longestText = 300
/** Entries that an export reads at once. */
const entriesOfExport = 250

/** An entry before it is written. */
export type NotedEntry = Omit<AuditLogEntry, 'callerName'>

interface Pending extends Omit<NotedEntry, 'times'> {
  times: number
  tries: number
  /** Number of equal accesses with their own entry, including this one. */
  alike: number
}

/** An entry that the database refuses, with its error. */
interface Refused {
  readonly id: string
  readonly error: unknown
}

interface Outcome {
  /** Ids of the written entries. */
  readonly written: ReadonlySet<string>
  readonly refused: readonly Refused[]
}

export class AuditLog {
  readonly #deps: AuditLogDeps
  readonly #maxUnprivileged: number
  #pending = new Map<string, Pending>()
  /** Number of waiting entries of each caller. */
  readonly #pendingOf = new Map<string, number>()
  /** The latest entry for each key; equal accesses are counted in it. */
  readonly #noted = new Map<string, Pending>()
  /** Number of entries written for an actor since its audit log was last trimmed. */
  readonly #touched = new Map<string, number>()
  #sequence = 0
  #dropped = 0
  /** True while the last write to the store failed. */
  #isBroken = false
  #flushing: Promise<void> | undefined
  #cancelTimer: Cancel | undefined
  #tidiedAt: number

  constructor(deps: AuditLogDeps) {
    this.#deps = deps
    this.#maxUnprivileged = Math.max(1, Math.floor(deps.maxPerActor * shareOfStrangers))
    this.#tidiedAt = deps.now()
  }

  record(act: AuditEntry): void {
    const { maxPerActor, now } = this.#deps
    if (maxPerActor === 0) return
    const isCounted = act.decision !== 'allowed' || act.callerKind === 'anonymous' || act.isRead === true
    const said = storableAct(withoutMissingName(act))
    const key = keyOf(said)
    const last = this.#noted.get(key)
    const same = last !== undefined && Math.abs(now() - last.at) < sameWithinMs ? last : undefined
    // A caller that repeats a request endlessly must neither displace other entries nor keep the disk busy.
    if (same !== undefined && (isCounted || same.alike >= maxAlike)) {
      same.times += 1
      this.#keep(same)
      return
    }
    const entry: Pending = {
      ...said,
      at: now(),
      id: this.#nextId(),
      device: said.device ?? '',
      times: 1,
      tries: 0,
      alike: (same?.alike ?? 0) + 1,
    }
    if (!this.#keep(entry)) return
    if (this.#noted.size >= maxNoted) this.#noted.clear()
    this.#noted.set(key, entry)
  }

  /** Returns a page of entries, newest first. @throws ServiceError `bad_request` for an invalid cursor or limit. */
  async page(actorId: string, { cursor = null, limit = 100, ...filter }: ActivityQuery = {}): Promise<AuditLogPage> {
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      throw new ServiceError('bad_request', 'Cannot list the activity: limit must be from 1 to 1000')
    const before = placeAt(cursor)
    const found = await this.#deps.store.read((q) => findEntries(q, actorId, { limit: limit + 1, before, filter }))
    return pageOf(found, limit)
  }

  /** Reads all entries that fit, newest first, in pages that are held in memory one at a time. */
  async *everyPage(actorId: string, filter: ActivityFilter): AsyncGenerator<readonly AuditLogEntry[], void> {
    for (let cursor: string | null = null; ; ) {
      const { entries, next } = await this.page(actorId, { ...filter, cursor, limit: entriesOfExport })
      yield entries
      if (next === null) return
      cursor = next
    }
  }

  /** Returns a page of the owner's decisions, newest first. @throws ServiceError `bad_request` for an invalid cursor. */
  async decisions(actorId: string, cursor: string | null, limit: number): Promise<AuditLogPage> {
    const before = placeAt(cursor)
    return pageOf(await this.#deps.store.read((q) => findDecisions(q, actorId, { limit: limit + 1, before })), limit)
  }

  /** Counts the requests of each of the last days (UTC), oldest first. Today is the last day. */
  async daily(actorId: string, days: number): Promise<readonly DayOfRequests[]> {
    const today = Math.floor(this.#deps.now() / dayMs) * dayMs
    const first = today - (days - 1) * dayMs
    const counts = await this.#deps.store.read((q) => countByDay(q, actorId, first))
    const byDay = new Map(counts.map((count) => [count.day, count]))
    return Array.from({ length: days }, (_, day) => {
      const { requests = 0, denied = 0 } = byDay.get(day) ?? {}
      return { start: first + day * dayMs, requests, denied }
    })
  }

  /** Whether accesses are recorded. */
  get isOn(): boolean {
    return this.#deps.maxPerActor > 0
  }

  /** Whether a peer has read a path, as far as that is recorded already. */
  hasRead(read: ReadByPeer): Promise<boolean> {
    return this.#deps.store.read((q) => hasRead(q, read))
  }

  /**
   * Counts the requests of each program in the last days, by the id of its relationship. Null: the audit log is off, or
   * keeps fewer days.
   */
  async requestsOfPrograms(actorId: string, days: number): Promise<ReadonlyMap<string, number> | null> {
    const { store, maxPerActor, maxAgeMs, now } = this.#deps
    if (maxPerActor === 0 || maxAgeMs < days * dayMs) return null
    const counts = await store.read((q) => countByProgram(q, actorId, now() - days * dayMs))
    return new Map(counts.map(({ caller, requests }) => [caller, requests]))
  }

  /** Writes the pending entries. */
  async flush(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined
    })
    await this.#flushing
  }

  async stop(): Promise<void> {
    // Repeats for entries that were recorded during a flush, or whose actor was locked.
    for (let tries = 0; tries < maxTries && (tries === 0 || this.#pending.size > 0); tries++) await this.flush()
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  /** Returns false when the memory limit is reached. */
  #keep(entry: Pending): boolean {
    if (!this.#pending.has(entry.id)) {
      const of = callerKey(entry)
      const count = this.#pendingOf.get(of) ?? 0
      if (this.#pending.size >= maxPending && !this.#makeRoom(count)) return false
      this.#pendingOf.set(of, count + 1)
    }
    this.#pending.set(entry.id, entry)
    if (this.#pending.size >= batchSize && this.#flushing === undefined && !this.#isBroken) this.#flushInBackground()
    else this.#flushIn(flushEveryMs)
    return true
  }

  /**
   * Drops an entry of the caller with most waiting entries, or the new one if its own caller has as many.
   *
   * @param count Number of waiting entries of the caller of the new entry.
   */
  #makeRoom(count: number): boolean {
    this.#drop(1)
    const [greediest, most] = [...this.#pendingOf].reduce((one, other) => (other[1] > one[1] ? other : one), ['', 0])
    if (most <= count) return false
    for (const entry of this.#pending.values()) {
      if (callerKey(entry) !== greediest) continue
      this.#release(entry)
      return true
    }
    return false
  }

  #release(entry: Pending): void {
    if (!this.#pending.delete(entry.id)) return
    const of = callerKey(entry)
    const count = (this.#pendingOf.get(of) ?? 1) - 1
    if (count > 0) this.#pendingOf.set(of, count)
    else this.#pendingOf.delete(of)
  }

  #flushIn(ms: number): void {
    this.#cancelTimer ??= this.#deps.timers.setTimer(ms, () => {
      this.#cancelTimer = undefined
      this.#flushInBackground()
    })
  }

  #flushInBackground(): void {
    void runInBackground(() => this.flush())
  }

  async #write(): Promise<void> {
    const { log } = this.#deps
    const later: Pending[] = []
    const refused: Refused[] = []
    // Entries recorded meanwhile wait for the next flush: under load, each of them would cost its own COMMIT.
    for (let noted = this.#pending.size; noted > 0; noted -= batchSize) {
      const batch = [...this.#pending.values()].slice(0, Math.min(noted, batchSize))
      const sent = batch.map((entry) => ({ ...entry }))
      for (const entry of batch) this.#release(entry)
      let outcome: Outcome
      try {
        outcome = await this.#put(sent)
        // The cause is not an entry but, for example, a missing privilege: the entries wait until the operator fixes it.
        if (sent.length > 1 && outcome.refused.length === sent.length) throw outcome.refused[0]?.error
      } catch (error) {
        this.#putBack([...batch, ...later])
        log.warn({ error, entries: this.#pending.size }, 'Cannot write the audit log: retrying')
        this.#isBroken = true
        this.#flushIn(retryMs)
        break
      }
      this.#isBroken = false
      const { written } = outcome
      refused.push(...outcome.refused)
      for (const { id, actorId } of sent) if (written.has(id)) this.#touch(actorId)
      // The actor of an unwritten entry is locked by another transaction or no longer exists.
      const isRefused = new Set(outcome.refused.map(({ id }) => id))
      later.push(
        ...batch.filter((entry) => !written.has(entry.id) && !isRefused.has(entry.id) && ++entry.tries < maxTries),
      )
    }
    this.#dropRefused(refused)
    if (this.#isBroken) return
    this.#putBack(later)
    if (this.#pending.size > 0) this.#flushIn(flushEveryMs)
    if (this.#dropped > 0) log.warn({ entries: this.#dropped }, 'Audit log entries were dropped: too many at once')
    this.#dropped = 0
    await this.#tidy()
  }

  /**
   * Writes entries with one statement. When the database rejects the statement permanently, each half is written separately,
   * so that an invalid entry is found and no other entry is lost with it.
   *
   * @throws ServiceError when the store is unavailable. Entries written before the failure may be written again.
   */
  async #put(entries: readonly NotedEntry[]): Promise<Outcome> {
    const { store, nameEntries } = this.#deps
    try {
      return {
        written: await store.write(async (tx) => putEntries(tx, (await nameEntries(tx, entries)).map(storableNamed)), {
          durability: 'relaxed',
        }),
        refused: [],
      }
    } catch (error) {
      if (isTemporary(error)) throw error
      if (entries.length <= 1) return { written: new Set(), refused: entries.map(({ id }) => ({ id, error })) }
      const middle = Math.ceil(entries.length / 2)
      const halves = [await this.#put(entries.slice(0, middle)), await this.#put(entries.slice(middle))]
      return {
        written: new Set(halves.flatMap(({ written }) => [...written])),
        refused: halves.flatMap(({ refused }) => refused),
      }
    }
  }

  /** Logs all rejected entries in one line: an error that affects every entry would otherwise flood the log. */
  #dropRefused(refused: readonly Refused[]): void {
    const [first] = refused
    if (first === undefined) return
    this.#deps.metrics.auditLogDropped(refused.length)
    this.#deps.log.error(
      { error: first.error, entries: refused.length },
      'Audit log entries were dropped: the database rejected them',
    )
  }

  #putBack(entries: readonly Pending[]): void {
    for (const entry of entries) {
      if (this.#pending.has(entry.id)) this.#pending.set(entry.id, entry)
      else if (this.#pending.size >= maxPending) this.#drop(1)
      else {
        this.#pending.set(entry.id, entry)
        this.#pendingOf.set(callerKey(entry), (this.#pendingOf.get(callerKey(entry)) ?? 0) + 1)
      }
    }
  }

  #drop(count: number): void {
    this.#dropped += count
    this.#deps.metrics.auditLogDropped(count)
  }

  #touch(actorId: string): void {
    if (this.#touched.size >= maxTouched && !this.#touched.has(actorId)) this.#touched.clear()
    this.#touched.set(actorId, (this.#touched.get(actorId) ?? 0) + 1)
  }

  /** Trims actors with many new entries at once; trims the others and deletes expired entries every hour. */
  async #tidy(): Promise<void> {
    const { store, now, log, maxPerActor, maxAgeMs } = this.#deps
    const isHourly = Math.abs(now() - this.#tidiedAt) >= tidyEveryMs
    const enough = Math.max(1, this.#maxUnprivileged)
    const due = [...this.#touched].filter(([, count]) => isHourly || count >= enough).map(([actorId]) => actorId)
    if (!isHourly && due.length === 0) return
    try {
      await store.write(async (tx) => {
        if (due.length > 0) await trimEntries(tx, due, maxPerActor, this.#maxUnprivileged)
        if (isHourly) await deleteEntriesBefore(tx, now() - maxAgeMs)
      })
      for (const actorId of due) this.#touched.delete(actorId)
      if (isHourly) this.#tidiedAt = now()
    } catch (error) {
      log.warn({ error }, 'Cannot trim the audit log: retrying')
    }
  }

  /** Ids preserve the order of entries of one millisecond and process; a random suffix prevents collisions of processes. */
  #nextId(): string {
    this.#sequence = (this.#sequence + 1) % 36 ** 6
    return `${this.#sequence.toString(36).padStart(6, '0')}${randomBytes(6).toString('hex')}`
  }
}

/**
 * Reads of names that do not exist share the entry of their collection, because a caller can make up any number of names.
 */
function withoutMissingName(act: AuditEntry): AuditEntry {
  if (act.isRead !== true || act.status !== 404) return act
  const [, collection = ''] = /^\/?([^/]*)/.exec(act.path) ?? []
  return { ...act, path: `/${collection}` }
}

/** Truncates the strings, because callers choose some of them, and replaces characters that a database cannot store. */
function storableAct(act: AuditEntry): AuditEntry {
  const cut = (text: string): string => storableText(text.slice(0, longestText))
  return {
    ...act,
    actorId: cut(act.actorId),
    caller: cut(act.caller),
    method: cut(act.method),
    path: cut(act.path),
    reason: cut(act.reason),
    requestId: cut(act.requestId),
  }
}

/** A peer chooses its name, so it may contain what the database refuses. */
function storableNamed(entry: AuditLogEntry): AuditLogEntry {
  return { ...entry, callerName: storableText(entry.callerName.slice(0, longestText)) }
}

/** Joins with NUL, which none of these strings contains. */
function keyOf(act: AuditEntry): string {
  const { actorId, callerKind, caller, through, method, path, decision, reason, status, device = '' } = act
  return [actorId, callerKind, caller, through, method, path, decision, reason, status, device].join('\0')
}

function callerKey({ actorId, callerKind, caller }: AuditEntry): string {
  return [actorId, callerKind, caller].join('\0')
}

function placeAt(cursor: string | null): Place | null {
  const place = cursor === null ? null : parseCursor(cursor)
  if (cursor !== null && place === null)
    throw new ServiceError('bad_request', 'Cannot list the activity: the cursor is not valid')
  return place
}

/** @param found Up to one entry more than the page has. */
function pageOf(found: readonly AuditLogEntry[], limit: number): AuditLogPage {
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  return { entries, next: found.length > limit && last !== undefined ? cursorOf(last) : null }
}
