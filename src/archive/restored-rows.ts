/** Inserts the rows of records with what the service keeps beside them: hashes, queues and counters. */
import { insertEntries } from '../publication/diff-store.ts'
import { known } from '../json/json.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Transaction } from '../store/store.ts'
import { deliversCallbacks } from '../subscription/scope.ts'
import type { RecordKind, RecordRow } from '../table/record-kind.ts'
import { type ArchiveMembers, insertRows, recordText } from './record-rows.ts'

export interface RestoredRows {
  readonly rows: readonly RecordRow[]
  /** The records of the rows, in the same order. */
  readonly given: readonly ArchiveMembers[]
  /** Unix milliseconds. */
  readonly now: number
  /** Whether peers with a subscription get a resync. */
  readonly hasResync: boolean
  /** For an actor that moves here, whose work waits until it is here. Null: the actor is here at once. */
  readonly arriving: ArrivingActor | null
  /** Whether the work waits until the actor is opened. */
  readonly isClosed: boolean
}

/** An actor that moves to this service. */
export interface ArrivingActor {
  readonly actorId: string
  /**
   * Creates the actor by `insert`, out of reach, in the place of what an earlier attempt has left. Its work stays. False: an
   * actor with this id is here.
   */
  readonly begin: (tx: Transaction, insert: () => Promise<boolean>) => Promise<boolean>
  /** Inserts records that are different for such an actor. False: it is not, and the records are inserted as usual. */
  readonly insertKind: (tx: Transaction, kind: RecordKind, all: RestoredRows) => Promise<boolean>
}

export async function insertKind(tx: Transaction, actorId: string, kind: RecordKind, all: RestoredRows): Promise<void> {
  if (all.rows.length === 0) return
  if (all.arriving !== null && (await all.arriving.insertKind(tx, kind, all))) return
  switch (kind.kind) {
    case 'relationship':
      return insertRelationships(tx, actorId, kind, all)
    case 'alarm':
      return insertAlarms(tx, actorId, kind, all)
    case 'subscription_of_peer':
      return insertSubscriptions(tx, actorId, kind, all)
    default:
      return kind.insert === undefined ? insertRows(tx, kind, actorId, all.rows) : kind.insert(tx, actorId, all.rows)
  }
}

async function insertRelationships(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, given }: RestoredRows,
): Promise<void> {
  const hashed = rows.map((row, n) => ({
    ...row,
    secret_hash: hashSecret(recordText(given[n] ?? new Map(), kind.kind, 'secret')),
  }))
  await insertRows(tx, kind, actorId, hashed, [['secret_hash', 'TEXT']])
}

async function insertAlarms(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, now, arriving, isClosed }: RestoredRows,
): Promise<void> {
  const dueAt = (row: RecordRow) => (arriving === null && !isClosed ? (row['at'] ?? now) : null)
  const jobs = rows.map((row) => ({ ...row, kind: 'alarm', last: 1, due_at: dueAt(row), created_at: now }))
  await insertRows(tx, kind, actorId, jobs, [
    ['kind', 'TEXT'],
    ['last', 'BIGINT'],
    ['due_at', 'BIGINT'],
    ['created_at', 'BIGINT'],
  ])
}

/** A peer gets a resync when the service cannot know which changes it has received since the export. */
async function insertSubscriptions(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, now, hasResync }: RestoredRows,
): Promise<void> {
  const committed = rows.map((row) => ({ ...row, committed: row['sequence'] ?? 0 }))
  await insertRows(tx, kind, actorId, committed, [['committed', 'BIGINT']])
  await tx.run(
    `UPDATE actor SET
       subscription_count = (SELECT COUNT(*) FROM publisher_subscription WHERE actor_id = $1),
       key_subscription_count = (SELECT COUNT(*) FROM publisher_subscription WHERE actor_id = $1 AND resource <> '')
     WHERE id = $1`,
    actorId,
  )
  if (hasResync) await insertResyncs(tx, actorId, rows, now)
}

/** Writes one resync for each subscription, whose row has its keys, granularity, sequence number and state. */
export async function insertResyncs(
  tx: Transaction,
  actorId: string,
  rows: readonly RecordRow[],
  now: number,
): Promise<void> {
  const entries = rows.map((row) => {
    const isCallback = deliversCallbacks(String(row['granularity']))
    return {
      peerId: String(row['peer_id']),
      subscriptionId: String(row['subscription_id']),
      sequence: Number(row['sequence']) + 1,
      kind: 'resync' as const,
      data: known('""'),
      replaces: false,
      deletions: null,
      changed: '',
      isCallback,
      dueAt: isCallback && row['state'] === 'live' ? now : null,
    }
  })
  await insertEntries(tx, actorId, entries, { createdAt: now, hops: 0, origin: '' })
}
