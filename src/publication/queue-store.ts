/**
 * The SQL of subscription queues: due times, leases and outcomes. Each subscription of a peer has one queue, which sends
 * its diffs in order. Every statement begins with the comment `delivery`, so tests that count the statements of a request
 * can ignore background work.
 */
import { isHere } from '../actor/actor-store.ts'
import type { JsonText } from '../json/json.ts'
import { byActor, firstOf, naming, runByActor } from '../store/by-key.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import type { Circuit } from '../outbox/policy.ts'

export interface QueueKey {
  readonly actorId: string
  readonly peerId: string
  readonly subscriptionId: string
}

/** Earliest and latest due time of queues and notices. Null: nothing waits. */
export async function findDue(q: Queries): Promise<{ readonly next: number; readonly last: number } | null> {
  const row = await q.get<Record<'queue' | 'last_queue' | 'notice' | 'last_notice', number | null>>(
    `/* delivery */ SELECT (SELECT MIN(due_at) FROM publisher_subscription WHERE due_at IS NOT NULL) AS queue,
       (SELECT MAX(due_at) FROM publisher_subscription WHERE due_at IS NOT NULL) AS last_queue,
       (SELECT MIN(due_at) FROM notice WHERE due_at IS NOT NULL) AS notice,
       (SELECT MAX(due_at) FROM notice WHERE due_at IS NOT NULL) AS last_notice`,
  )
  const times = Object.values(row ?? {}).filter((time) => time !== null)
  return times.length === 0 ? null : { next: Math.min(...times), last: Math.max(...times) }
}

/** The statement that finds up to `most` actors with queues or notices that are due until `now`, or after `latest`. */
export function findDueActors(now: number, latest: number, most: number): [sql: string, ...params: number[]] {
  return [
    `/* delivery */ SELECT actor AS "actorId", MAX(due) AS last FROM (
       SELECT actor_id AS actor, due_at AS due FROM publisher_subscription WHERE due_at <= $1 OR due_at > $2
       UNION ALL SELECT sender AS actor, due_at AS due FROM notice WHERE due_at <= $1 OR due_at > $2) AS waiting
     GROUP BY actor ORDER BY MIN(due) LIMIT $3`,
    now,
    latest,
    most,
  ]
}

/** Makes everything due now that is due after `beyond`. */
export async function bringForward(tx: Transaction, beyond: number, now: number): Promise<void> {
  await tx.run('/* delivery */ UPDATE publisher_subscription SET due_at = $2 WHERE due_at > $1', beyond, now)
  await tx.run('/* delivery */ UPDATE notice SET due_at = $2 WHERE due_at > $1', beyond, now)
}

/** Like `bringForward`, for one actor. */
export async function bringActorForward(tx: Transaction, actorId: string, beyond: number, now: number): Promise<void> {
  await tx.run(
    '/* delivery */ UPDATE publisher_subscription SET due_at = $3 WHERE actor_id = $1 AND due_at > $2',
    actorId,
    beyond,
    now,
  )
  await tx.run('/* delivery */ UPDATE notice SET due_at = $3 WHERE sender = $1 AND due_at > $2', actorId, beyond, now)
}

export interface ClaimedQueue extends QueueKey {
  /** Root URL of the peer. */
  readonly baseuri: string
  /** Stored number of failures in a row at the peer. */
  readonly failures: number
}

/** Which due work to lease. */
export interface Claim {
  readonly now: number
  /** End of the leases. */
  readonly until: number
  readonly limit: number
  /** Null: all actors besides those in `without`. */
  readonly actorId: string | null
  readonly without: readonly string[]
}

/**
 * Leases due queues until `until`. All processes together lease at most one queue of a peer that is failing, or whose
 * open circuit allows a probe (record 026).
 */
export async function claimQueues(
  tx: Transaction,
  { now, until, limit, actorId, without }: Claim,
): Promise<ClaimedQueue[]> {
  const named = [naming(actorId, 'publisher_subscription.actor_id', 5), naming(actorId, 's.actor_id', 5)]
  // Citus asks one server only when every table is compared with the parameter.
  const owner = (column: string): string => (actorId === null ? column : '$5')
  return tx.all<ClaimedQueue>(
    `/* delivery */ UPDATE publisher_subscription SET due_at = $2, leased_until = $2
     WHERE (actor_id, peer_id, subscription_id) IN (
       SELECT s.actor_id, s.peer_id, s.subscription_id FROM publisher_subscription s
       WHERE s.due_at <= $1 AND s.actor_id NOT IN (SELECT actor FROM rows($4, actor TEXT) AS busy)
         AND NOT EXISTS (
           SELECT 1 FROM trust t
           JOIN publisher_subscription o ON o.actor_id = t.actor_id AND o.peer_id = t.peer_id
           WHERE t.actor_id = ${owner('s.actor_id')} AND t.peer_id = s.peer_id
             AND t.failures > 0 AND (t.open_until IS NULL OR t.open_until <= $1)
             AND o.subscription_id <> s.subscription_id
             AND (o.leased_until > $1 OR o.due_at < s.due_at
               OR (o.due_at = s.due_at AND o.subscription_id < s.subscription_id)))
         ${named[1]?.sql}
       ORDER BY s.due_at LIMIT $3 FOR UPDATE SKIP LOCKED)${named[0]?.sql}
     RETURNING actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId",
       (SELECT t.baseuri FROM trust t WHERE t.actor_id = ${owner('publisher_subscription.actor_id')}
          AND t.peer_id = publisher_subscription.peer_id) AS baseuri,
       (SELECT t.failures FROM trust t WHERE t.actor_id = ${owner('publisher_subscription.actor_id')}
          AND t.peer_id = publisher_subscription.peer_id) AS failures`,
    now,
    until,
    limit,
    JSON.stringify(without.map((busy) => [busy])),
    ...(named[0]?.params ?? []),
  )
}

/** Extends the lease of a queue. False: another process has the lease. */
export async function extendLease(
  tx: Transaction,
  queue: QueueKey,
  leasedUntil: number,
  until: number,
): Promise<boolean> {
  const updated = await tx.run(
    `/* delivery */ UPDATE publisher_subscription SET leased_until = $5, due_at = $5
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND leased_until = $4`,
    queue.actorId,
    queue.peerId,
    queue.subscriptionId,
    leasedUntil,
    until,
  )
  return updated === 1
}

/**
 * Claims the one probe that an open circuit allows after its pause, or ends a claim without an outcome. False: another process
 * has claimed the probe.
 */
export async function claimProbe(
  tx: Transaction,
  { actorId, peerId }: Pick<QueueKey, 'actorId' | 'peerId'>,
  openUntil: number,
  until: number,
): Promise<boolean> {
  const updated = await tx.run(
    '/* delivery */ UPDATE trust SET open_until = $4 WHERE actor_id = $1 AND peer_id = $2 AND open_until = $3',
    actorId,
    peerId,
    openUntil,
    until,
  )
  return updated === 1
}

/** Replaces the latest diff by the full state. False: a later diff exists. */
export async function putFullState(
  tx: Transaction,
  queue: QueueKey,
  sequence: number,
  data: JsonText,
): Promise<boolean> {
  const updated = await tx.run(
    `/* delivery */ UPDATE diff SET kind = 'full', data = $5, replaces = 1, cleared_at = NULL
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence = $4 AND sequence = (
       SELECT s.sequence FROM publisher_subscription s
       WHERE s.actor_id = $1 AND s.peer_id = $2 AND s.subscription_id = $3)`,
    queue.actorId,
    queue.peerId,
    queue.subscriptionId,
    sequence,
    data,
  )
  return updated === 1
}

/** One callback that was sent. */
export interface Attempt {
  readonly sequence: number
  readonly outcome: 'waiting' | 'delivered' | 'failed'
  readonly reason: string
  readonly sentAt: number
  readonly answeredAt: number | null
}

/** The outcome of one delivery batch. */
export interface BatchOutcome {
  readonly queue: QueueKey
  /** End of the batch's lease. The outcome leaves the queue unchanged when another process has a lease by now. */
  readonly leasedUntil: number
  /** The last sequence number that needs no further attempt. */
  readonly committed: number
  /** Attempts for the next sequence number, and how many of them had an unknown outcome. */
  readonly tries: number
  readonly uncertain: number
  readonly failingSince: number | null
  readonly state: 'live' | 'stopped'
  readonly repair: Repair
  /** The time of the repair when the batch began. An approval during the batch makes it earlier. */
  readonly repairWasAt: number | null
  /** The last attempt was a resync or the full state, after which the copy is no longer in doubt. */
  readonly isRepaired?: boolean
  /** The last attempt brought the copy of the peer to the full state. */
  readonly isWhole?: boolean
  /** Next attempt: at a time, `now` under the same lease if a diff waits, or `idle` until the next change. */
  readonly next: number | 'now' | 'idle'
  /** In order of the sequence numbers. */
  readonly attempts: readonly Attempt[]
  /** Applies the attempts to the stored circuit of the peer, which other queues may have changed. Null: no change. */
  readonly circuit: ((before: Circuit) => Circuit) | null
}

/** Whether the copy of the peer may lack a change, and when it is repaired by a resync. */
export interface Repair {
  /** Unix milliseconds. Null: the copy is not in doubt. `beforeChanges`: at once, and before the changes that wait. */
  readonly at: number | null
  /**
   * Resyncs that failed in a row. `onlyDeletions`: the copy has the full state, and only lacks deletions. Less: the peer accepted the
   * resync, and has until `at` to fetch the full state (`awaited`).
   */
  readonly failures: number
}

export const onlyDeletions = -1

/** Time for a peer to fetch the full state, from the time at which it was sent the resync. Milliseconds. */
export const fetchMs = 60_000

/** The state of a repair whose resync was accepted, after so many failed ones. Its own inverse. */
export function awaited(failures: number): number {
  return onlyDeletions - 1 - failures
}

/** The time of a repair that precedes the changes that wait. */
export const beforeChanges = 0

/** The longest time until a queue is looked at that waits for its repair. A longer one would mean a clock that was set back. */
export const longestLookMs = 3_600_000

/** Consecutive deliveries from this number on are stored as one row. */
const leastRun = 4

/** Begins the repair of a copy that is not in doubt yet. One that is keeps its time. */
export async function beginRepair(
  tx: Transaction,
  { actorId, peerId, subscriptionId }: QueueKey,
  { at, failures }: Repair & { readonly at: number },
): Promise<void> {
  const time = 'CAST($4 AS BIGINT)'
  await tx.run(
    `/* delivery */ UPDATE publisher_subscription SET repair_at = ${time}, repairs = $5,
       due_at = CASE WHEN due_at < ${time} THEN due_at ELSE ${time} END
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND repair_at IS NULL`,
    actorId,
    peerId,
    subscriptionId,
    at,
    failures,
  )
}

/** Returns for each outcome whether the lease stays, because more diffs wait. The number of statements is constant. */
export async function commitOutcomes(
  tx: Transaction,
  outcomes: readonly BatchOutcome[],
  now: number,
): Promise<readonly boolean[]> {
  const queues = await commitQueues(tx, outcomes, now)
  // Without the lease the queue stays uncommitted, so each delivered diff needs a row of its own.
  const recorded = outcomes.map((outcome) => ({
    ...outcome,
    run: queues.has(keyOf(outcome.queue)) ? runLength(outcome.attempts) : 0,
  }))
  // Sent together and executed in this order.
  await Promise.all([
    insertRuns(tx, recorded),
    recordAttempts(tx, recorded),
    supersede(tx, outcomes),
    commitCircuits(tx, outcomes, now),
  ])
  return outcomes.map(({ queue }) => queues.get(keyOf(queue)) === true)
}

/** Number of attempts at the start that are stored as one run. */
function runLength(attempts: readonly Attempt[]): number {
  const first = attempts[0]?.sequence ?? 0
  const end = attempts.findIndex(
    ({ sequence, outcome }, index) => outcome !== 'delivered' || sequence !== first + index,
  )
  const length = end < 0 ? attempts.length : end
  return length < leastRun ? 0 : length
}

interface WithRun extends BatchOutcome {
  /** Number of attempts at the start that are stored as one run. */
  readonly run: number
}

async function insertRuns(tx: Transaction, recorded: readonly WithRun[]): Promise<void> {
  const rows = recorded.flatMap(({ queue, attempts, run }) => {
    const [first, last] = [attempts[0], attempts[run - 1]]
    if (first === undefined || last === undefined) return []
    const ended = last.answeredAt ?? last.sentAt
    const times = attempts
      .slice(0, run)
      .flatMap(({ sentAt, answeredAt }) => [ended - sentAt, ended - (answeredAt ?? sentAt)])
    return [
      [queue.actorId, queue.peerId, queue.subscriptionId, last.sequence, first.sequence, JSON.stringify(times), ended],
    ]
  })
  if (rows.length === 0) return
  await runByActor(tx, rows, (own) =>
    tx.run(
      `/* delivery */ INSERT INTO delivery_run (actor_id, peer_id, subscription_id, sequence, first, times, ended_at)
     SELECT actor, peer, subscription, final, initial, moments, ended
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, final BIGINT, initial BIGINT, moments TEXT, ended BIGINT) AS r
     WHERE true ON CONFLICT DO NOTHING`,
      JSON.stringify(own),
    ),
  )
}

/** Condition: the repair was begun during the batch. */
const isBegun = '(r.was IS NULL AND repair_at IS NOT NULL)'
/** Condition: the repair was brought forward during the batch, and is still needed, or was begun. */
const isHurried = `(${isBegun} OR (r.repair IS NOT NULL AND repair_at < r.was))`

/**
 * Returns the queues whose lease was valid, each with whether the lease stays. A copy with the full state that has missed deletions
 * gets them now.
 */
async function commitQueues(
  tx: Transaction,
  outcomes: readonly BatchOutcome[],
  now: number,
): Promise<ReadonlyMap<string, boolean>> {
  const hasMissed = (only: string | null): string => `EXISTS (SELECT 1 FROM missed_deletion m
         WHERE m.actor_id = ${only === null ? 'publisher_subscription.actor_id' : '$2'}
           AND m.peer_id = publisher_subscription.peer_id AND m.subscription_id = publisher_subscription.subscription_id)`
  const rows = await byActor(
    tx,
    outcomes,
    ({ queue }) => queue.actorId,
    (own, only) => {
      const named = naming(only, 'actor_id', 2)
      return tx.all<QueueKey & { readonly leasedUntil: number }>(
        `/* delivery */ UPDATE publisher_subscription SET
       committed = CASE WHEN committed < r.done THEN r.done ELSE committed END,
       attempts = r.tries, uncertain = r.unknowns, failing_since = r.failing, state = r.standing,
       repair_at = CASE WHEN ${isHurried} THEN repair_at WHEN r.whole > 0 AND ${hasMissed(only)} THEN r.whole
         ELSE r.repair END,
       repairs = CASE WHEN ${isBegun} THEN repairs WHEN r.whole > 0 AND ${hasMissed(only)} THEN ${onlyDeletions} ELSE r.repaired END,
       leased_until = CASE WHEN r.due = 0 AND sequence > r.done AND sequence > committed THEN r.lease ELSE 0 END,
       due_at = CASE
         WHEN r.due = -1 AND r.standing = 'live' THEN CASE WHEN ${isHurried} THEN repair_at END
         WHEN r.due = -1 OR sequence <= r.done OR sequence <= committed THEN
           CASE WHEN ${isHurried} THEN repair_at WHEN r.whole > 0 AND ${hasMissed(only)} THEN r.whole ELSE r.look END
         WHEN r.due > 0 THEN r.due
         ELSE r.lease END
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, lease BIGINT, done BIGINT, tries BIGINT, unknowns BIGINT,
       failing BIGINT, standing TEXT, due BIGINT, repair BIGINT, repaired BIGINT, look BIGINT, was BIGINT, whole BIGINT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer AND subscription_id = r.subscription AND leased_until = r.lease${named.sql}
     RETURNING actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId",
       leased_until AS "leasedUntil"`,
        JSON.stringify(
          own.map(({ queue, next, ...made }) => [
            queue.actorId,
            queue.peerId,
            queue.subscriptionId,
            made.leasedUntil,
            made.committed,
            made.tries,
            made.uncertain,
            made.failingSince,
            made.state,
            next === 'idle' ? -1 : next === 'now' ? 0 : next,
            made.repair.at,
            made.repair.failures,
            made.repair.at === null ? null : Math.min(made.repair.at, now + longestLookMs),
            made.repairWasAt,
            made.isWhole === true ? now : 0,
          ]),
        ),
        ...named.params,
      )
    },
  )
  return new Map(rows.map((row) => [keyOf(row), row.leasedUntil > 0]))
}

async function recordAttempts(tx: Transaction, recorded: readonly WithRun[]): Promise<void> {
  const rows = recorded.flatMap(({ queue, attempts, run }) =>
    attempts
      .slice(run)
      .map(({ sequence, outcome, reason, sentAt, answeredAt }) => [
        queue.actorId,
        queue.peerId,
        queue.subscriptionId,
        sequence,
        outcome,
        reason,
        sentAt,
        answeredAt,
      ]),
  )
  if (rows.length === 0) return
  await runByActor(tx, rows, (own, only) => {
    const named = naming(only, 'actor_id', 2)
    return tx.run(
      `/* delivery */ UPDATE delivery SET attempts = attempts + 1, sent_at = r.sent, answered_at = r.answered,
       outcome = CASE WHEN outcome = 'waiting' OR r.ending = 'delivered' THEN r.ending ELSE outcome END,
       reason = r.why
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, number BIGINT, ending TEXT, why TEXT, sent BIGINT,
       answered BIGINT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer AND subscription_id = r.subscription AND sequence = r.number${named.sql}`,
      JSON.stringify(own),
      ...named.params,
    )
  })
}

/** Marks the diffs that a resync or the full state covers: those that wait, and after a repair those that had failed. */
async function supersede(tx: Transaction, outcomes: readonly BatchOutcome[]): Promise<void> {
  const passed = outcomes.filter(
    ({ committed, attempts, isRepaired }) => isRepaired === true || committed > (attempts.at(-1)?.sequence ?? 0),
  )
  if (passed.length === 0) return
  const rows = passed.map(({ queue, committed, isRepaired }) => [
    queue.actorId,
    queue.peerId,
    queue.subscriptionId,
    committed,
    Number(isRepaired === true),
  ])
  await runByActor(tx, rows, (own, only) => {
    const named = [naming(only, 'delivery.actor_id', 2), naming(only, 'w.actor_id', 2)]
    return tx.run(
      `/* delivery */ UPDATE delivery SET outcome = 'superseded'
     WHERE outcome IN ('waiting', 'failed') AND (actor_id, peer_id, subscription_id, sequence) IN (
       SELECT w.actor_id, w.peer_id, w.subscription_id, w.sequence
       FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, done BIGINT, mended BIGINT) AS r
       JOIN delivery w ON w.actor_id = r.actor AND w.peer_id = r.peer AND w.subscription_id = r.subscription
         AND w.sequence <= r.done AND (w.outcome = 'waiting' OR (w.outcome = 'failed' AND r.mended = 1))${named[1]?.sql})${named[0]?.sql}`,
      JSON.stringify(own),
      ...(named[0]?.params ?? []),
    )
  })
}

async function commitCircuits(tx: Transaction, outcomes: readonly BatchOutcome[], now: number): Promise<void> {
  const changed = outcomes.filter(({ circuit }) => circuit !== null)
  if (changed.length === 0) return
  const changes = Map.groupBy(changed, ({ queue }) => peerKeyOf(queue))
  const rows = (await lockCircuits(tx, [...changes.keys()])).map(({ actorId, peerId, ...before }) => {
    const ofPeer = changes.get(peerKeyOf({ actorId, peerId })) ?? []
    return { actorId, peerId, before, after: ofPeer.reduce((made, { circuit }) => circuit?.(made) ?? made, before) }
  })
  const circuits = rows.map(({ actorId, peerId, after }) => [actorId, peerId, after.failures, after.openUntil])
  await runByActor(tx, circuits, (own, only) => {
    const named = naming(only, 'actor_id', 2)
    return tx.run(
      `/* delivery */ UPDATE trust SET failures = r.fails, open_until = r.until
     FROM rows($1, actor TEXT, peer TEXT, fails BIGINT, until BIGINT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer${named.sql}`,
      JSON.stringify(own),
      ...named.params,
    )
  })
  const recovered = rows.filter(({ before, after }) => before.openUntil !== null && after.openUntil === null)
  if (recovered.length === 0) return
  const peers = recovered.map(({ actorId, peerId }) => [actorId, peerId])
  await runByActor(tx, peers, (own, only) => {
    const named = naming(only, 'actor_id', 3)
    return tx.run(
      `/* delivery */ UPDATE publisher_subscription SET due_at = $2
     FROM rows($1, actor TEXT, peer TEXT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer AND due_at IS NOT NULL AND leased_until < $2${named.sql}`,
      JSON.stringify(own),
      now,
      ...named.params,
    )
  })
}

type Peer = Pick<QueueKey, 'actorId' | 'peerId'>

/** Locks the rows of the peers. Queues of one peer commit in concurrent transactions, and every failure must count. */
function lockCircuits(tx: Transaction, peerKeys: readonly string[]): Promise<(Peer & Circuit)[]> {
  const peers = peerKeys.map((key) => JSON.parse(key) as string[])
  return byActor(tx, peers, firstOf, (own, only) => {
    const named = naming(only, 't.actor_id', 2)
    return tx.all<Peer & Circuit>(
      `/* delivery */ SELECT t.actor_id AS "actorId", t.peer_id AS "peerId", t.failures, t.open_until AS "openUntil"
     FROM rows($1, actor TEXT, peer TEXT) AS r
     JOIN trust t ON t.actor_id = r.actor AND t.peer_id = r.peer${named.sql}
     ORDER BY t.actor_id, t.peer_id FOR UPDATE OF t`,
      JSON.stringify(own),
      ...named.params,
    )
  })
}

function peerKeyOf({ actorId, peerId }: Peer): string {
  return JSON.stringify([actorId, peerId])
}

function keyOf({ actorId, peerId, subscriptionId }: QueueKey): string {
  return JSON.stringify([actorId, peerId, subscriptionId])
}

/** Releases the leases of queues whose batch did not begin. The queues are due at `dueAt`. */
export async function releaseLeases(
  tx: Transaction,
  leases: readonly { readonly queue: QueueKey; readonly until: number }[],
  dueAt: number,
): Promise<void> {
  const rows = leases.map(({ queue, until }) => [queue.actorId, queue.peerId, queue.subscriptionId, until])
  await runByActor(tx, rows, (own, only) => {
    const named = naming(only, 'actor_id', 3)
    return tx.run(
      `/* delivery */ UPDATE publisher_subscription SET leased_until = 0,
       due_at = CASE WHEN sequence > committed OR repair_at IS NOT NULL THEN CAST($2 AS BIGINT) ELSE NULL END
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, lease BIGINT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer AND subscription_id = r.subscription AND leased_until = r.lease${named.sql}`,
      JSON.stringify(own),
      dueAt,
      ...named.params,
    )
  })
}

/**
 * Sends failed diffs that are still stored again, in order, restarts stopped queues, repairs copies in doubt, and ends the pauses
 * of open circuits. A missing id means every actor that is here, peer or subscription. Returns the number of diffs.
 */
export async function redriveQueues(tx: Transaction, of: Partial<QueueKey>, now: number): Promise<number> {
  const given = givenKeys(of)
  const params = given.map(([, value]) => value)
  const where = (table: string): string =>
    given.map(([column], index) => ` AND ${table}.${column} = $${index + 1}`).join('') +
    (of.actorId === undefined ? isHere(`${table}.actor_id`) : '')
  // The rows of a run still have the outcome 'waiting'. Without this update they would be sent again.
  await tx.run(
    `/* delivery */ UPDATE delivery SET outcome = 'delivered'
     WHERE outcome = 'waiting' AND sequence <= (SELECT s.committed FROM publisher_subscription s
       WHERE s.actor_id = delivery.actor_id AND s.peer_id = delivery.peer_id
         AND s.subscription_id = delivery.subscription_id)${where('delivery')}`,
    ...params,
  )
  const redriven = await tx.run(
    `/* delivery */ UPDATE delivery SET outcome = 'waiting'
     WHERE outcome = 'failed' AND EXISTS (SELECT 1 FROM diff d WHERE d.actor_id = delivery.actor_id
       AND d.peer_id = delivery.peer_id AND d.subscription_id = delivery.subscription_id
       AND d.sequence = delivery.sequence AND d.cleared_at IS NULL)${where('delivery')}`,
    ...params,
  )
  await tx.run(
    `/* delivery */ UPDATE publisher_subscription SET state = 'live', attempts = 0, uncertain = 0, failing_since = NULL,
       committed = COALESCE((SELECT MIN(w.sequence) - 1 FROM delivery w WHERE w.actor_id = publisher_subscription.actor_id
         AND w.peer_id = publisher_subscription.peer_id AND w.subscription_id = publisher_subscription.subscription_id
         AND w.outcome = 'waiting'), committed),
       due_at = CASE WHEN leased_until > $${params.length + 1} THEN due_at ELSE CAST($${params.length + 1} AS BIGINT) END
     WHERE granularity IN ('high', 'low') AND EXISTS (SELECT 1 FROM delivery w
       WHERE w.actor_id = publisher_subscription.actor_id AND w.peer_id = publisher_subscription.peer_id
         AND w.subscription_id = publisher_subscription.subscription_id AND w.outcome = 'waiting')${where('publisher_subscription')}`,
    ...params,
    now,
  )
  const ofPeer = given.filter(([column]) => column !== 'subscription_id')
  // The next call is the probe that an open circuit allows after its pause.
  await tx.run(
    `/* delivery */ UPDATE trust SET open_until = $${ofPeer.length + 1}
     WHERE open_until > $${ofPeer.length + 1}${ofPeer.map(([column], index) => ` AND ${column} = $${index + 1}`).join('')}`,
    ...ofPeer.map(([, value]) => value),
    now,
  )
  await hurryRepairs(tx, of, now)
  return redriven
}

/**
 * Makes the repairs of copies due, because what a peer refused it may accept now. A missing id means every actor that is here,
 * peer or subscription. A peer that has accepted its resync keeps its time to fetch the full state.
 */
export async function hurryRepairs(tx: Transaction, of: Partial<QueueKey>, now: number): Promise<void> {
  const given = givenKeys(of)
  const at = `CAST($${given.length + 1} AS BIGINT)`
  await tx.run(
    `/* delivery */ UPDATE publisher_subscription SET repair_at = ${at},
       due_at = CASE WHEN leased_until > ${at} THEN due_at ELSE ${at} END
     WHERE repair_at > ${at} AND repairs >= ${onlyDeletions}${given.map(([column], index) => ` AND ${column} = $${index + 1}`).join('')}${
       of.actorId === undefined ? isHere('publisher_subscription.actor_id') : ''
     }`,
    ...given.map(([, value]) => value),
    now,
  )
}

/** Like `hurryRepairs`, after an approval. The resyncs also replace the changes that wait, because the peer may have refused some. */
export async function repairFirst(
  tx: Transaction,
  { actorId, peerId }: Pick<QueueKey, 'actorId' | 'peerId'>,
  now: number,
): Promise<void> {
  const at = 'CAST($3 AS BIGINT)'
  await tx.run(
    `/* delivery */ UPDATE publisher_subscription SET repair_at = ${beforeChanges},
       due_at = CASE WHEN leased_until > ${at} THEN due_at ELSE ${at} END
     WHERE actor_id = $1 AND peer_id = $2 AND repair_at IS NOT NULL`,
    actorId,
    peerId,
    now,
  )
}

/** The columns of the given ids, with their values. */
function givenKeys(of: Partial<QueueKey>): (readonly [column: string, value: string])[] {
  return Object.entries({
    actor_id: of.actorId,
    peer_id: of.peerId,
    subscription_id: of.subscriptionId,
  }).flatMap(([column, value]) => (value === undefined ? [] : [[column, value] as const]))
}

/** Number of queues with diffs to send. */
export async function countDueQueues(store: Pick<Store, 'readAllServers'>): Promise<number> {
  const counts = await store.readAllServers<{ queues: number }>(
    '/* delivery */ SELECT COUNT(*) AS queues FROM publisher_subscription WHERE due_at IS NOT NULL',
  )
  return counts.reduce((sum, { queues }) => sum + queues, 0)
}

/** Up to `limit` subscriptions with diffs that are older than `since`, each with the last such sequence number. */
export async function findAged(
  q: Queries,
  since: number,
  limit: number,
): Promise<(QueueKey & { readonly upTo: number })[]> {
  return q.all(
    `/* delivery */ SELECT actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId",
       MAX(sequence) AS "upTo"
     FROM diff
     WHERE created_at < $1 AND kind <> 'resync' GROUP BY actor_id, peer_id, subscription_id LIMIT $2`,
    since,
    limit,
  )
}

/** Deletes the timeline entries of deleted diffs. */
export async function deleteOldDeliveries(tx: Transaction, before: number): Promise<void> {
  await tx.run(
    `/* delivery */ DELETE FROM delivery WHERE written_at < $1 AND (outcome <> 'waiting' OR sequence <= (
       SELECT s.committed FROM publisher_subscription s WHERE s.actor_id = delivery.actor_id
         AND s.peer_id = delivery.peer_id AND s.subscription_id = delivery.subscription_id))`,
    before,
  )
  await tx.run('/* delivery */ DELETE FROM delivery_run WHERE ended_at < $1', before)
}
