/**
 * The incarnation of the store. Each continuation of its data has another one, so that a copy that runs beside the original,
 * or after it, is never taken for it.
 */
import { randomUUID } from 'node:crypto'
import type { Log } from '../observe/log.ts'
import { StoreStartError } from '../store/start-error.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import { type DoubtfulCopies, doubtCopies } from './doubtful-copies.ts'

export interface Incarnation {
  readonly id: string
  /** Unix milliseconds. */
  readonly beganAt: number
  /** The time of the copy, in a copy that no service has started with. Null: the store is an original. */
  readonly copiedAt: number | null
  /** The incarnation whose data this one continues. Null: none. */
  readonly previous: { readonly id: string; readonly copiedAt: number | null } | null
  /** The timeline of the PostgreSQL server. Null: unknown. A restore to a point in time begins another timeline. */
  readonly timeline: number | null
}

const name = 'incarnation'
/** The progress of a restore, while it is not complete. */
export const restoreSetting = 'restore'

export async function findIncarnation(q: Queries): Promise<Incarnation | null> {
  const text = await settingOf(q, name)
  return text === null ? null : (JSON.parse(text) as Incarnation)
}

/**
 * Returns the incarnation at the start of a service. A new store, a copy, and a server with another timeline begin one.
 *
 * @throws StoreStartError for a store whose restore is not complete.
 */
export async function startIncarnation(store: Store, log: Pick<Log, 'warn'>): Promise<Incarnation> {
  await requireRestored(store)
  const found = await store.read(findIncarnation)
  const timeline = await timelineOf(store)
  const isContinued = found !== null && found.copiedAt === null && (timeline ?? found.timeline) === found.timeline
  if (isContinued) return found
  // The server only did not state its timeline before.
  if (found !== null && found.copiedAt === null && found.timeline === null)
    return store.write((tx) => replace(tx, found, { ...found, timeline }))
  const { begun, doubtful } = await store.write((tx) =>
    succeed(tx, found, { beganAt: store.now(), timeline, isCopy: found !== null }),
  )
  if (doubtful !== null)
    log.warn(
      { incarnation: begun.id, previous: begun.previous, ...doubtful },
      found?.copiedAt === null
        ? 'The timeline of the database server has changed, so a new incarnation begins, and all copies of subscriptions are renewed'
        : 'The database is a copy, so a new incarnation begins, and all copies of subscriptions are renewed',
    )
  return begun
}

/** A new incarnation. `doubtful` is null for the first one of a store, or when another process was faster. */
export interface BegunIncarnation {
  readonly begun: Incarnation
  readonly doubtful: DoubtfulCopies | null
}

/** Begins a new incarnation, because the operator knows that the store is a copy. */
export async function beginIncarnation(store: Store): Promise<BegunIncarnation> {
  const timeline = await timelineOf(store)
  const beganAt = store.now()
  return store.write(async (tx) => succeed(tx, await findIncarnation(tx), { beganAt, timeline, isCopy: true }))
}

/** Begins a new incarnation. The data of a copy lacks changes that peers may have. */
async function succeed(
  tx: Transaction,
  found: Incarnation | null,
  { beganAt, timeline, isCopy }: Pick<Incarnation, 'beganAt' | 'timeline'> & { readonly isCopy: boolean },
): Promise<BegunIncarnation> {
  const next = successorOf(found, beganAt, timeline)
  const begun = await replace(tx, found, next)
  return { begun, doubtful: isCopy && begun.id === next.id ? await doubtCopies(tx, beganAt) : null }
}

/** Marks the store as a copy. A copy of a copy that no service has started with has its mark already. */
export async function markCopy(tx: Transaction, copiedAt: number): Promise<Incarnation> {
  const found = (await findIncarnation(tx)) ?? successorOf(null, copiedAt, null)
  return replace(tx, found, { ...found, copiedAt: found.copiedAt ?? copiedAt })
}

/** @throws StoreStartError for a store whose restore is not complete. */
export async function requireRestored(store: Pick<Store, 'read'>): Promise<void> {
  if ((await store.read((q) => settingOf(q, restoreSetting))) !== null)
    throw new StoreStartError('Cannot use the database: its restore is not complete; run troupe restore again.')
}

function successorOf(found: Incarnation | null, beganAt: number, timeline: number | null): Incarnation {
  const previous = found === null ? null : { id: found.id, copiedAt: found.copiedAt }
  return { id: randomUUID(), beganAt, copiedAt: null, previous, timeline }
}

/** Stores `next` unless another process was faster. Returns what is stored. */
async function replace(tx: Transaction, found: Incarnation | null, next: Incarnation): Promise<Incarnation> {
  const text = JSON.stringify(next)
  await (found === null
    ? tx.run('INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', name, text)
    : tx.run('UPDATE setting SET value = $2 WHERE name = $1 AND value = $3', name, text, JSON.stringify(found)))
  return (await findIncarnation(tx)) ?? next
}

async function settingOf(q: Queries, setting: string): Promise<string | null> {
  return (await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', setting))?.value ?? null
}

/** The first eight digits of the name of a segment of the log are its timeline. */
const timelineQuery = 'SELECT SUBSTR(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) AS digits'

/** Null: SQLite has none, and some offers of PostgreSQL do not state it. */
async function timelineOf(store: Store): Promise<number | null> {
  if (store.dialect === 'sqlite') return null
  try {
    const row = await store.read((q) => q.get<{ digits: string }>(timelineQuery))
    return row === undefined ? null : Number.parseInt(row.digits, 16)
  } catch {
    return null
  }
}
