/** The SQL of sequence numbers, diffs and timeline entries. */
import type { JsonText } from '../json/json.ts'
import { naming, runByActor } from '../store/by-key.ts'
import type { Param, Queries, Row, Transaction } from '../store/store.ts'
import type { SubscriptionOf } from './backlog-store.ts'
import { acknowledgedDiffs, isUnappliedDeletion, keepMissedDiffs, missedDiff } from './missed-store.ts'

/** A publisher-side subscription with the facts that a change needs. */
export interface Subscriber {
  readonly peerId: string
  readonly subscriptionId: string
  readonly target: string
  readonly subtarget: string
  readonly resource: string
  readonly granularity: string
  readonly sequence: number
  readonly isStopped: boolean
  readonly relationship: string
  readonly approved: boolean
  /** End of the approval, in Unix milliseconds. Null: no end. */
  readonly approvedUntil: number | null
  /** End of the pause of an open circuit (Unix milliseconds). */
  readonly openUntil: number | null
}

/** Filter for subscriptions to a target. */
export interface SubscriberFilter {
  /** Subscriptions to the whole target and to these subtargets. Default: every subtarget. */
  readonly subtargets?: readonly string[]
  /** Default: every peer. */
  readonly peerId?: string
  /** At most `most` subscriptions, those after this one. Default: all. */
  readonly page?: { readonly after: SubscriptionOf; readonly most: number }
}

/** The subscriptions to a target with their relationships, in the order of their keys. */
export async function findSubscribers(
  q: Queries,
  actorId: string,
  target: string,
  { subtargets, peerId, page }: SubscriberFilter,
): Promise<Subscriber[]> {
  const values: (string | number)[] = [actorId, target]
  const placeholder = (value: string | number): string => `$${values.push(value)}`
  const ofPeer = peerId === undefined ? '' : ` AND s.peer_id = ${placeholder(peerId)}`
  const ofParts =
    subtargets === undefined
      ? ''
      : ` AND (s.subtarget = '' OR s.subtarget IN (SELECT name FROM rows(${placeholder(
          JSON.stringify(subtargets.map((name) => [name])),
        )}, name TEXT) AS wanted))`
  const ofPage =
    page === undefined
      ? ''
      : ` AND (s.peer_id, s.subscription_id) > (${placeholder(page.after.peerId)}, ${placeholder(page.after.subscriptionId)})`
  const limit = page === undefined ? '' : ` LIMIT ${placeholder(page.most)}`
  const rows = await q.all<Row<Omit<Subscriber, 'isStopped'>> & { readonly state: string }>(
    `SELECT s.peer_id AS "peerId", s.subscription_id AS "subscriptionId", s.target, s.subtarget, s.resource, s.granularity,
       s.sequence, s.state, t.relationship, t.approved, t.approved_until AS "approvedUntil", t.open_until AS "openUntil"
     FROM publisher_subscription s JOIN trust t ON t.actor_id = s.actor_id AND t.peer_id = s.peer_id
     WHERE s.actor_id = $1 AND s.target = $2${ofPeer}${ofParts}${ofPage}
     ORDER BY s.peer_id, s.subscription_id${limit}`,
    ...values,
  )
  return rows.map(({ state, ...row }) => ({ ...row, isStopped: state === 'stopped', approved: row.approved !== 0 }))
}

/** One sequence number of one subscription. */
export interface DiffEntry {
  readonly peerId: string
  readonly subscriptionId: string
  readonly sequence: number
  readonly kind: 'diff' | 'resync' | 'erasure'
  readonly data: JsonText
  readonly replaces: boolean
  /** The part of the data that deletes names. Null: it deletes none. */
  readonly deletions: JsonText | null
  /** JSON array: up to five names that changed, and the number of further ones. Empty: everything, as after a resync. */
  readonly changed: string
  /** True: sent as a callback. False: only kept for polling. */
  readonly isCallback: boolean
  /** Time of the first attempt. Null: none. */
  readonly dueAt: number | null
}

/** When and by which call the change was made whose entries are written. */
export interface Made {
  /** Unix milliseconds. */
  readonly createdAt: number
  /** Number of changes that led to this one. */
  readonly hops: number
  /** `Transaction.origin` */
  readonly origin: string
}

/** Rows of one statement, and their characters. SQLite runs a statement without a pause. */
const most = { rows: 500, characters: 1_048_576 }
/** The rows of a statement share a longer text, which is a parameter of its own. */
const longText = 32_768
/** Characters of shared texts that one statement stores. */
const maxStored = 4_194_304

/**
 * Writes entries in few statements that are sent together. Entries of one subscription must be in the order of their sequence
 * numbers.
 */
export async function insertEntries(
  tx: Transaction,
  actorId: string,
  entries: readonly DiffEntry[],
  made: Made,
): Promise<void> {
  const outcomes = entries.map((entry) => [
    entry.peerId,
    entry.subscriptionId,
    entry.sequence,
    entry.isCallback ? 'waiting' : 'unsent',
    entry.changed,
  ])
  await Promise.all([
    moveSequences(tx, actorId, entries),
    insertDiffs(tx, actorId, entries, made),
    inParts(outcomes, (rows) =>
      tx.run(
        `INSERT INTO delivery (actor_id, peer_id, subscription_id, sequence, written_at, outcome, origin, changed)
         SELECT $1, made.peer, made.subscription, made.sequence, CAST($3 AS BIGINT), made.outcome, $4, made.changed
         FROM rows($2, peer TEXT, subscription TEXT, sequence BIGINT, outcome TEXT, changed TEXT) AS made`,
        actorId,
        rows,
        made.createdAt,
        made.origin,
      ),
    ),
  ])
}

/** Runs a statement for the JSON of each part of the rows, one after the other. */
async function inParts(
  rows: readonly (readonly Param[])[],
  run: (part: string) => Promise<number>,
  maxRows = most.rows,
): Promise<void> {
  const parts: Param[][][] = []
  let characters = 0
  for (const row of rows) {
    const length = row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0)
    const part = parts.at(-1)
    if (part === undefined || part.length >= maxRows || characters + length > most.characters) {
      parts.push([[...row]])
      characters = length
    } else {
      part.push([...row])
      characters += length
    }
  }
  for (const part of parts) await run(JSON.stringify(part))
}

function moveSequences(tx: Transaction, actorId: string, entries: readonly DiffEntry[]): Promise<number> {
  const last = new Map(entries.map((entry) => [JSON.stringify([entry.peerId, entry.subscriptionId]), entry]))
  // Each row has the actor's id, so SQLite finds the subscription of each row. With the id as a parameter of its own
  // SQLite would scan the rows for each subscription of the actor.
  const rows = [...last.values()].map(({ peerId, subscriptionId, sequence, dueAt }) => [
    actorId,
    peerId,
    subscriptionId,
    sequence,
    dueAt,
  ])
  const named = naming(tx.isSharded ? actorId : null, 'actor_id', 2)
  return tx.run(
    `UPDATE publisher_subscription SET sequence = made.sequence,
       due_at = CASE
         WHEN state <> 'live' THEN due_at
         -- Until now, the queue only waited for a repair.
         WHEN publisher_subscription.sequence <= committed AND leased_until = 0 THEN COALESCE(made.due, due_at)
         ELSE COALESCE(due_at, made.due) END
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, sequence BIGINT, due BIGINT) AS made
     WHERE actor_id = made.actor AND peer_id = made.peer AND subscription_id = made.subscription${named.sql}`,
    JSON.stringify(rows),
    ...named.params,
  )
}

/**
 * Inserts diffs. Their sequence numbers are already those of the subscription, or move with `insertEntries`. Many subscribers get
 * the same long text: a statement gets it once. A join of rows with texts would take as many steps as there are rows, times the
 * texts.
 */
export async function insertDiffs(
  tx: Transaction,
  actorId: string,
  entries: readonly Omit<DiffEntry, 'changed' | 'isCallback' | 'dueAt'>[],
  { createdAt, hops }: Pick<Made, 'createdAt' | 'hops'>,
): Promise<void> {
  const byText = Map.groupBy(entries, ({ data }) => (data.length > longText ? data : ''))
  for (const [text, those] of byText) {
    const own = (value: string): string | null => (text !== '' && value === text ? null : value)
    const rows = those.map((entry) => [
      entry.peerId,
      entry.subscriptionId,
      entry.sequence,
      entry.kind,
      own(entry.data),
      Number(entry.replaces),
      own(entry.deletions ?? ''),
    ])
    const insert = (part: string): Promise<number> =>
      tx.run(
        `INSERT INTO diff (actor_id, peer_id, subscription_id, sequence, kind, data, replaces, created_at, hops, deletions)
         SELECT $1, made.peer, made.subscription, made.sequence, made.kind, COALESCE(made.data, $5), made.replaces,
           CAST($3 AS BIGINT), CAST($4 AS BIGINT), COALESCE(made.deletions, $5)
         FROM rows($2, peer TEXT, subscription TEXT, sequence BIGINT, kind TEXT, data TEXT, replaces BIGINT,
           deletions TEXT) AS made`,
        actorId,
        part,
        createdAt,
        hops,
        text,
      )
    await inParts(rows, insert, Math.min(most.rows, Math.max(1, Math.floor(maxStored / text.length))))
  }
}

/** The sequence numbers of a subscription up to one. */
export interface Prefix {
  readonly actorId: string
  readonly peerId: string
  readonly subscriptionId: string
  readonly upTo: number
}

/**
 * Deletes the oldest diffs. One resync replaces diffs that were still to be sent. A polling peer sees the gap in the
 * sequence numbers. The number of statements is constant.
 */
export async function dropOldest(tx: Transaction, prefixes: readonly Prefix[], now: number): Promise<void> {
  const rows = prefixes.map((prefix) => [prefix.actorId, prefix.peerId, prefix.subscriptionId, prefix.upTo])
  await keepMissedDiffs(tx, prefixes)
  await runByActor(tx, rows, (own, only) => dropRows(tx, JSON.stringify(own), only, now))
}

async function dropRows(tx: Transaction, rows: string, only: string | null, now: number): Promise<number> {
  const dropped = 'rows($1, actor TEXT, peer TEXT, subscription TEXT, upto BIGINT) AS dropped'
  for (const [table, comparison] of [
    ['diff', '<='],
    ['delivery', '<'],
    ['delivery_run', '<'],
  ] as const) {
    const named = [naming(only, `${table}.actor_id`, 2), naming(only, 'old.actor_id', 2)]
    await tx.run(
      `DELETE FROM ${table} WHERE (actor_id, peer_id, subscription_id, sequence) IN (
         SELECT old.actor_id, old.peer_id, old.subscription_id, old.sequence FROM ${dropped}
         JOIN ${table} old ON old.actor_id = dropped.actor AND old.peer_id = dropped.peer
           AND old.subscription_id = dropped.subscription AND old.sequence ${comparison} dropped.upto${named[1]?.sql})${named[0]?.sql}`,
      rows,
      ...(named[0]?.params ?? []),
    )
  }
  const named = naming(only, 'queue.actor_id', 3)
  return tx.run(
    `INSERT INTO diff (actor_id, peer_id, subscription_id, sequence, kind, data, replaces, created_at)
     SELECT queue.actor_id, queue.peer_id, queue.subscription_id, dropped.upto, 'resync', '""', 0, CAST($2 AS BIGINT)
     FROM ${dropped} JOIN publisher_subscription queue ON queue.actor_id = dropped.actor AND queue.peer_id = dropped.peer
       AND queue.subscription_id = dropped.subscription
     WHERE queue.committed < dropped.upto AND queue.granularity IN ('high', 'low')${named.sql}`,
    rows,
    now,
    ...named.params,
  )
}

/** A diff as a peer reads it. */
export interface StoredDiff {
  readonly sequence: number
  /** `erasure` deletes what the peer may no longer read, so the rights of the peer do not filter its names. */
  readonly kind: 'diff' | 'full' | 'erasure'
  readonly data: JsonText
  readonly replaces: boolean
  /** Unix milliseconds. */
  readonly createdAt: number
}

const columns = 'sequence, kind, data, replaces, created_at AS "createdAt"'

function toDiff({ sequence, kind, data, replaces, createdAt }: Row<StoredDiff>): StoredDiff {
  return { sequence, kind, data, replaces: replaces !== 0, createdAt }
}

/**
 * Condition: the diff is number 1, the peer may have applied its callback, and later numbers exist. The Python library sets its
 * number to 0 before it polls because of a gap, so it would apply diffs again that begin with number 1. When they begin later,
 * it fetches the full state.
 */
const isFirstApplied = `(diff.sequence = 1 AND EXISTS (SELECT 1 FROM delivery f JOIN publisher_subscription s ON s.actor_id = f.actor_id
           AND s.peer_id = f.peer_id AND s.subscription_id = f.subscription_id
         WHERE f.actor_id = diff.actor_id AND f.peer_id = diff.peer_id AND f.subscription_id = diff.subscription_id
           AND f.sequence = 1 AND s.sequence > 1 AND (f.outcome IN ('delivered', 'superseded')
             OR (f.outcome = 'waiting' AND s.committed >= 1) OR (f.sent_at IS NOT NULL AND f.answered_at IS NULL))))`

/** The diffs of one answer to a poll. */
export interface PolledDiffs {
  /** Ascending. */
  readonly diffs: readonly StoredDiff[]
  /** More diffs follow than fit into the answer. */
  readonly isCut: boolean
}

/**
 * The diffs of one answer to a poll: at least one, and as many further ones as fit into `maxBytes`.
 *
 * A peer with callbacks gets only those behind the last number that the answer lacks, such as that of a resync, or of a diff that does
 * not fit. The Python library applies diffs up to such a number and acknowledges the later ones without effect, but fetches the full
 * state when it can apply none. The deletions before the number follow its acknowledgement (`findUnapplied`).
 */
export async function findDiffs(
  q: Queries,
  actorId: string,
  peerId: string,
  subscriptionId: string,
  maxBytes: number,
): Promise<PolledDiffs> {
  // The rows are chosen by their sizes, because a database that sums up sizes keeps every column that it reads.
  const rows = await q.all<Row<StoredDiff> & { readonly waiting: number }>(
    `SELECT diff.sequence, diff.kind, diff.data, diff.replaces, diff.created_at AS "createdAt", waiting.waiting FROM (
       SELECT sequence, bytes, SUM(bytes) OVER (ORDER BY sequence) AS bytes_until, COUNT(*) OVER () AS waiting
       FROM (
         SELECT diff.sequence, octet_length(data) AS bytes,
           CASE WHEN s.granularity = 'none'
             OR (diff.sequence + ROW_NUMBER() OVER (ORDER BY diff.sequence DESC) = s.sequence + 1
               AND (SUM(octet_length(data)) OVER (ORDER BY diff.sequence DESC) <= $4 OR diff.sequence = s.sequence))
             THEN 1 ELSE 0 END AS is_last
         FROM diff JOIN publisher_subscription s ON s.actor_id = diff.actor_id AND s.peer_id = diff.peer_id
           AND s.subscription_id = diff.subscription_id
         WHERE diff.actor_id = $1 AND diff.peer_id = $2 AND diff.subscription_id = $3 AND kind <> 'resync'
           AND cleared_at IS NULL AND NOT ${isFirstApplied}
       ) AS numbered
       WHERE is_last = 1
     ) AS waiting CROSS JOIN diff
     WHERE diff.actor_id = $1 AND diff.peer_id = $2 AND diff.subscription_id = $3 AND diff.sequence = waiting.sequence
       AND (waiting.bytes_until <= $4 OR waiting.bytes_until = waiting.bytes)
     ORDER BY diff.sequence`,
    actorId,
    peerId,
    subscriptionId,
    maxBytes,
  )
  return { diffs: rows.map(toDiff), isCut: rows.length < (rows[0]?.waiting ?? 0) }
}

/** Condition: the callback of the diff is still to be sent. */
const waitsForDelivery = `EXISTS (SELECT 1 FROM delivery w JOIN publisher_subscription s ON s.actor_id = w.actor_id
           AND s.peer_id = w.peer_id AND s.subscription_id = w.subscription_id
         WHERE w.actor_id = diff.actor_id AND w.peer_id = diff.peer_id AND w.subscription_id = diff.subscription_id
           AND w.sequence = diff.sequence AND w.sequence > s.committed AND w.outcome = 'waiting')`

interface Readable {
  readonly readableSince: number
  readonly mayRepeat: boolean
}

/** Reads the diff that `clearDiff` would return, without clearing it. */
export async function findDiff(
  q: Queries,
  { actorId, peerId, subscriptionId, sequence }: Omit<Prefix, 'upTo'> & { readonly sequence: number },
  { readableSince, mayRepeat }: Readable,
): Promise<StoredDiff | null> {
  const row = await q.get<Row<StoredDiff>>(
    `SELECT ${columns} FROM diff
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence = $4 AND kind <> 'resync'
       AND (cleared_at IS NULL OR ($5 = 1 AND (cleared_at >= $6 OR ${waitsForDelivery})))`,
    actorId,
    peerId,
    subscriptionId,
    sequence,
    Number(mayRepeat),
    readableSince,
  )
  return row === undefined ? null : toDiff(row)
}

/**
 * Reads one diff and clears it. Null: it does not exist. With `mayRepeat` a diff can be read again when it was cleared
 * after `readableSince`, or while its callback is still to be sent. Other cleared diffs are deleted.
 *
 * Reading a diff does not prove delivery, because the reader may crash. The callback is still sent.
 */
export async function clearDiff(
  tx: Transaction,
  { actorId, peerId, subscriptionId, sequence }: Omit<Prefix, 'upTo'> & { readonly sequence: number },
  { now, readableSince, mayRepeat }: Readable & { readonly now: number },
): Promise<StoredDiff | null> {
  const key = [actorId, peerId, subscriptionId] as const
  await tx.run(
    `DELETE FROM diff WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND cleared_at < $4
       AND NOT ${waitsForDelivery}`,
    ...key,
    readableSince,
  )
  const [row] = await tx.all<Row<StoredDiff>>(
    `UPDATE diff SET cleared_at = COALESCE(cleared_at, $5)
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence = $4 AND kind <> 'resync'
       ${mayRepeat ? '' : 'AND cleared_at IS NULL'}
     RETURNING ${columns}`,
    ...key,
    sequence,
    now,
  )
  if (row === undefined) return null
  await tx.run(
    `UPDATE delivery SET acknowledged_at = COALESCE(acknowledged_at, $5)
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence = $4`,
    ...key,
    sequence,
    now,
  )
  return toDiff(row)
}

/** The diffs that a peer with callbacks acknowledges although it may not have them. */
export interface Unapplied {
  /** Diffs that delete names, and that the peer has not read one by one. */
  readonly deletions: number
  /** Diffs whose callback had a URL in place of the data, and that the peer has not read there. */
  readonly unread: number
}

/**
 * Returns which diffs up to a number the peer may acknowledge without effect. The Python library acknowledges what it polled also when it
 * could not apply it, and a callback whose URL it could not read. A poll is followed by the full state then, which deletes nothing.
 */
export async function findUnapplied(
  q: Queries,
  { actorId, peerId, subscriptionId, upTo }: Prefix,
  maxHighGranularityBytes: number,
): Promise<Unapplied> {
  const row = await q.get<Unapplied>(
    `SELECT COALESCE(SUM(CASE WHEN ${isUnappliedDeletion} THEN 1 ELSE 0 END), 0) AS deletions,
       COALESCE(SUM(CASE WHEN kind = 'diff' AND (s.granularity = 'low' OR octet_length(data) > $5) THEN 1 ELSE 0 END), 0) AS unread
     FROM ${acknowledgedDiffs}`,
    actorId,
    peerId,
    subscriptionId,
    upTo,
    maxHighGranularityBytes,
  )
  return row ?? { deletions: 0, unread: 0 }
}

/** Deletes acknowledged diffs. Their callbacks are no longer sent. */
export async function acknowledgeDiffs(
  tx: Transaction,
  { actorId, peerId, subscriptionId, upTo }: Prefix,
  now: number,
): Promise<void> {
  const key = [actorId, peerId, subscriptionId, upTo] as const
  const upToThat = 'WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence <= $4'
  await tx.run(`DELETE FROM diff ${upToThat}`, ...key)
  await tx.run(
    `UPDATE delivery SET acknowledged_at = COALESCE(acknowledged_at, $5),
       outcome = CASE WHEN outcome = 'waiting' THEN 'superseded' ELSE outcome END ${upToThat}`,
    ...key,
    now,
  )
  await tx.run(
    `UPDATE publisher_subscription SET committed = CASE WHEN committed < $4 THEN $4 ELSE committed END,
       attempts = CASE WHEN committed < $4 THEN 0 ELSE attempts END,
       uncertain = CASE WHEN committed < $4 THEN 0 ELSE uncertain END,
       due_at = CASE WHEN sequence <= $4 AND leased_until = 0 AND repair_at IS NULL THEN NULL ELSE due_at END
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3`,
    ...key,
  )
}

/** The deletions in diffs that the peer may not have, ascending. */
export async function findMissedDeletions(
  q: Queries,
  { actorId, peerId, subscriptionId }: Omit<Prefix, 'upTo'>,
): Promise<JsonText[]> {
  const rows = await q.all<{ deletions: JsonText }>(
    `SELECT diff.deletions FROM diff WHERE ${missedDiff('$1')}
       AND diff.peer_id = $2 AND diff.subscription_id = $3 ORDER BY diff.sequence`,
    actorId,
    peerId,
    subscriptionId,
  )
  return rows.map(({ deletions }) => deletions)
}

/** Forgets the deletions in diffs up to a number, because a later diff repeats those that the peer may not have. */
export async function clearDeletions(
  tx: Transaction,
  { actorId, peerId, subscriptionId, upTo }: Prefix,
): Promise<void> {
  await tx.run(
    `UPDATE diff SET deletions = ''
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence <= $4 AND deletions <> ''`,
    actorId,
    peerId,
    subscriptionId,
    upTo,
  )
}

/** Continues the numbers of a subscription after `upTo`. False: they are there already. */
export async function raiseSequence(
  tx: Transaction,
  { actorId, peerId, subscriptionId, upTo }: Prefix,
): Promise<boolean> {
  const raised = await tx.run(
    `UPDATE publisher_subscription SET sequence = $4, committed = $4, attempts = 0, uncertain = 0
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence < $4`,
    actorId,
    peerId,
    subscriptionId,
    upTo,
  )
  return raised === 1
}

/** The outcome of one sequence number. Times are Unix milliseconds. */
export interface TimelineEntry {
  readonly sequence: number
  readonly outcome: 'waiting' | 'delivered' | 'failed' | 'superseded' | 'unsent'
  readonly reason: string
  readonly attempts: number
  readonly writtenAt: number
  readonly sentAt: number | null
  readonly answeredAt: number | null
  readonly acknowledgedAt: number | null
  /** See `DiffEntry`. */
  readonly changed: string
}

/** The latest `limit` sequence numbers, descending. */
export async function findTimeline(
  q: Queries,
  actorId: string,
  peerId: string,
  subscriptionId: string,
  limit: number,
): Promise<readonly TimelineEntry[]> {
  const key = [actorId, peerId, subscriptionId] as const
  const [entries, runs] = await Promise.all([
    q.all<TimelineEntry>(
      `SELECT sequence, outcome, reason, attempts, written_at AS "writtenAt", sent_at AS "sentAt",
         answered_at AS "answeredAt", acknowledged_at AS "acknowledgedAt", changed
       FROM delivery
       WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 ORDER BY sequence DESC LIMIT $4`,
      ...key,
      limit,
    ),
    q.all<Run>(
      `SELECT first, times, ended_at AS "endedAt" FROM delivery_run
       WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 ORDER BY sequence DESC LIMIT $4`,
      ...key,
      limit,
    ),
  ])
  const arrivals = new Map(runs.flatMap(arrivalsOf))
  return entries.map((entry) => {
    const arrival = arrivals.get(entry.sequence)
    return arrival === undefined
      ? entry
      : { ...entry, ...arrival, outcome: 'delivered', reason: '', attempts: entry.attempts + 1 }
  })
}

/** Consecutive sequence numbers that were delivered. */
interface Run {
  readonly first: number
  readonly times: string
  readonly endedAt: number
}

/** Sequence number to the times at which its callback was sent and answered. */
function arrivalsOf({ first, times, endedAt }: Run): (readonly [number, { sentAt: number; answeredAt: number }])[] {
  const before = JSON.parse(times) as number[]
  const at = (place: number): number => endedAt - (before[place] ?? 0)
  return Array.from({ length: before.length / 2 }, (_, index) => [
    first + index,
    { sentAt: at(index * 2), answeredAt: at(index * 2 + 1) },
  ])
}
