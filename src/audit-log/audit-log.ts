/**
 * Notes behind the requests who did what: in memory first, then in batches, one statement each. Nobody waits for it, and
 * nothing fails with it. What was noted in the last moment before a crash is lost.
 */
import { randomBytes } from 'node:crypto'
import { isTemporary, ServiceError } from '../errors.ts'
import { storableText } from '../json/json.ts'
import type { Cancel, Timers } from '../timers.ts'
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Store } from '../store/store.ts'
import { type Act, cursorOf, type AuditLogEntry, parseCursor } from './entry.ts'
import { deleteEntriesBefore, findEntries, putEntries, trimEntries } from './audit-log-store.ts'

export interface LedgerDeps {
  readonly store: Store
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'ledgerDropped'>
  /** Entries kept for an actor; 0 keeps none. */
  readonly mostPerActor: number
  readonly maxAgeMs: number
}

export interface AuditLogPage {
  readonly entries: readonly AuditLogEntry[]
  /** For the next, older page; null on the last one. */
  readonly next: string | null
}

export interface ActivityQuery {
  readonly caller?: string | null
  readonly cursor?: string | null
  /** From 1 to 1000; 100 unless given. */
  readonly limit?: number
}

const flushEveryMs = 1000
/** After a failure. */
const retryMs = 5000
/** Written by one statement; as many make a flush begin at once. */
const batchSize = 500
/** In memory; what comes beyond is counted and lost. */
const mostPending = 10_000
/** What is the same within this time is counted: readings from the second on, changes and calls after so many. */
const sameWithinMs = 60_000
const mostAlike = 100
const mostNoted = 5000
/** An actor whose turn is taken again and again, or that is gone. */
const mostTries = 5
const tidyEveryMs = 3_600_000
const mostTouched = 10_000
/** What strangers and the refused may fill, so that they push nothing else out. */
const shareOfStrangers = 0.1
const longestText = 300

interface Pending extends Omit<AuditLogEntry, 'times'> {
  times: number
  tries: number
  /** How many like it, this one included, have a line of their own. */
  alike: number
}

/** An entry that the database refuses, with its error. */
interface Refused {
  readonly id: string
  readonly error: unknown
}

interface Outcome {
  /** Ids. */
  readonly written: ReadonlySet<string>
  readonly refused: readonly Refused[]
}

export class AuditLog {
  readonly #deps: LedgerDeps
  readonly #mostOfStrangers: number
  #pending = new Map<string, Pending>()
  /** The last of each kind, which those to come may be counted with. */
  readonly #noted = new Map<string, Pending>()
  /** How much was written for an actor since its ledger was last cut to length. */
  readonly #touched = new Map<string, number>()
  #sequence = 0
  #dropped = 0
  /** The store took nothing the last time. */
  #isBroken = false
  #flushing: Promise<void> | undefined
  #cancelTimer: Cancel | undefined
  #tidiedAt: number

  constructor(deps: LedgerDeps) {
    this.#deps = deps
    this.#mostOfStrangers = Math.max(1, Math.floor(deps.mostPerActor * shareOfStrangers))
    this.#tidiedAt = deps.now()
  }

  record(act: Act): void {
    const { mostPerActor, now } = this.#deps
    if (mostPerActor === 0) return
    const isCounted = act.decision !== 'allowed' || act.callerKind === 'anonymous' || act.isRead === true
    const said = storableAct(act)
    const key = keyOf(said)
    const last = this.#noted.get(key)
    const same = last !== undefined && Math.abs(now() - last.at) < sameWithinMs ? last : undefined
    // Somebody who calls without end neither pushes all else out nor keeps the disk busy.
    if (same !== undefined && (isCounted || same.alike >= mostAlike)) {
      same.times += 1
      this.#keep(same)
      return
    }
    const entry: Pending = {
      ...said,
      at: now(),
      id: this.#nextId(),
      times: 1,
      tries: 0,
      alike: (same?.alike ?? 0) + 1,
    }
    if (!this.#keep(entry)) return
    if (this.#noted.size >= mostNoted) this.#noted.clear()
    this.#noted.set(key, entry)
  }

  /** The newest first. @throws ServiceError `bad_request` for a cursor or a limit that cannot be. */
  async page(
    actorId: string,
    { caller = null, cursor = null, limit = 100 }: ActivityQuery = {},
  ): Promise<AuditLogPage> {
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      throw new ServiceError('bad_request', 'Cannot list the activity: limit must be from 1 to 1000')
    const before = cursor === null ? null : parseCursor(cursor)
    if (cursor !== null && before === null)
      throw new ServiceError('bad_request', 'Cannot list the activity: the cursor is none of this list')
    const found = await this.#deps.store.read((q) => findEntries(q, actorId, { limit: limit + 1, before, caller }))
    const entries = found.slice(0, limit)
    const last = entries.at(-1)
    return { entries, next: found.length > limit && last !== undefined ? cursorOf(last) : null }
  }

  /** Writes what was noted so far. */
  async flush(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined
    })
    await this.#flushing
  }

  async stop(): Promise<void> {
    // Again for what was noted while a batch was being written, or whose actor somebody else had.
    for (let tries = 0; tries < mostTries && (tries === 0 || this.#pending.size > 0); tries++) await this.flush()
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  /** False when there is no room. */
  #keep(entry: Pending): boolean {
    if (!this.#pending.has(entry.id) && this.#pending.size >= mostPending) {
      this.#drop(1)
      return false
    }
    this.#pending.set(entry.id, entry)
    if (this.#pending.size >= batchSize && this.#flushing === undefined && !this.#isBroken) this.#flushInBackground()
    else this.#flushIn(flushEveryMs)
    return true
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
    // What comes meanwhile waits: under load there is always something, and each would be a COMMIT of its own.
    for (let noted = this.#pending.size; noted > 0; noted -= batchSize) {
      const batch = [...this.#pending.values()].slice(0, Math.min(noted, batchSize))
      const sent = batch.map((entry) => ({ ...entry }))
      for (const { id } of batch) this.#pending.delete(id)
      let outcome: Outcome
      try {
        outcome = await this.#put(sent)
        // The fault lies elsewhere, such as in a missing privilege: the entries wait until the fault is repaired.
        if (sent.length > 1 && outcome.refused.length === sent.length) throw outcome.refused[0]?.error
      } catch (error) {
        this.#putBack([...batch, ...later])
        log.warn({ error, entries: this.#pending.size }, 'The access ledger cannot be written now; it tries again')
        this.#isBroken = true
        this.#flushIn(retryMs)
        break
      }
      this.#isBroken = false
      const { written } = outcome
      refused.push(...outcome.refused)
      for (const { id, actorId } of sent) if (written.has(id)) this.#touch(actorId)
      // Another change has the turn of their actor, or it is gone.
      const isRefused = new Set(outcome.refused.map(({ id }) => id))
      later.push(
        ...batch.filter((entry) => !written.has(entry.id) && !isRefused.has(entry.id) && ++entry.tries < mostTries),
      )
    }
    this.#dropRefused(refused)
    if (this.#isBroken) return
    this.#putBack(later)
    if (this.#pending.size > 0) this.#flushIn(flushEveryMs)
    if (this.#dropped > 0) log.warn({ entries: this.#dropped }, 'The access ledger lost entries: too many came at once')
    this.#dropped = 0
    await this.#tidy()
  }

  /**
   * Writes entries with one statement. When the database refuses the statement for good, each half is written alone, so that
   * an entry that cannot be stored is found and takes no other entry with it.
   *
   * @throws ServiceError when the store is unavailable. Entries written before the failure may be written again.
   */
  async #put(entries: readonly AuditLogEntry[]): Promise<Outcome> {
    try {
      return {
        written: await this.#deps.store.write((tx) => putEntries(tx, entries), { durability: 'relaxed' }),
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

  /** One log line for all of them: a fault that concerns every entry would flood the log otherwise. */
  #dropRefused(refused: readonly Refused[]): void {
    const [first] = refused
    if (first === undefined) return
    this.#deps.metrics.ledgerDropped(refused.length)
    this.#deps.log.error(
      { error: first.error, entries: refused.length },
      'Audit log entries were dropped: the database refuses to store them',
    )
  }

  #putBack(entries: readonly Pending[]): void {
    for (const entry of entries) {
      if (this.#pending.has(entry.id) || this.#pending.size < mostPending) this.#pending.set(entry.id, entry)
      else this.#drop(1)
    }
  }

  #drop(count: number): void {
    this.#dropped += count
    this.#deps.metrics.ledgerDropped(count)
  }

  #touch(actorId: string): void {
    if (this.#touched.size >= mostTouched && !this.#touched.has(actorId)) this.#touched.clear()
    this.#touched.set(actorId, (this.#touched.get(actorId) ?? 0) + 1)
  }

  /** Actors that got a tenth of what they may keep are cut to length at once, the others with what is too old, hourly. */
  async #tidy(): Promise<void> {
    const { store, now, log, mostPerActor, maxAgeMs } = this.#deps
    const isHourly = Math.abs(now() - this.#tidiedAt) >= tidyEveryMs
    const enough = Math.max(1, this.#mostOfStrangers)
    const due = [...this.#touched].filter(([, count]) => isHourly || count >= enough).map(([actorId]) => actorId)
    if (!isHourly && due.length === 0) return
    try {
      await store.write(async (tx) => {
        if (due.length > 0) await trimEntries(tx, due, mostPerActor, this.#mostOfStrangers)
        if (isHourly) await deleteEntriesBefore(tx, now() - maxAgeMs)
      })
      for (const actorId of due) this.#touched.delete(actorId)
      if (isHourly) this.#tidiedAt = now()
    } catch (error) {
      log.warn({ error }, 'The access ledger cannot be cut to length now; it tries again')
    }
  }

  /** Those of one millisecond and one process keep their order; a random rest tells processes apart. */
  #nextId(): string {
    this.#sequence = (this.#sequence + 1) % 36 ** 6
    return `${this.#sequence.toString(36).padStart(6, '0')}${randomBytes(6).toString('hex')}`
  }
}

/** Callers choose some of these strings freely: they are cut, and every database can store what is left. */
function storableAct(act: Act): Act {
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

/** NUL is in none of them. */
function keyOf(act: Act): string {
  const { actorId, callerKind, caller, through, method, path, decision, reason, status } = act
  return [actorId, callerKind, caller, through, method, path, decision, reason, status].join('\0')
}
