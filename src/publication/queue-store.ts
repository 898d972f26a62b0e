/**
 * The SQL of lanes: what is due, who holds it, and what an attempt led to. A lane is a peer's subscription; its numbers
 * are told one after another. Every statement begins with a mark, so that the work behind the requests can be told from
 * theirs where statements are counted.
 */
import type { JsonText } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { Circuit } from '../outbox/policy.ts'

export interface LaneKey {
  readonly actorId: string
  readonly peerId: string
  readonly subscriptionId: string
}

/** The earliest and the latest due time of anything; null when nothing waits. */
export async function findDue(q: Queries): Promise<{ readonly next: number; readonly last: number } | null> {
  const row = await q.get<Record<'lane' | 'last_lane' | 'notice' | 'last_notice', number | null>>(
    `/* delivery */ SELECT (SELECT MIN(due_at) FROM inbound_subscription WHERE due_at IS NOT NULL) AS lane,
       (SELECT MAX(due_at) FROM inbound_subscription WHERE due_at IS NOT NULL) AS last_lane,
       (SELECT MIN(due_at) FROM notice WHERE due_at IS NOT NULL) AS notice,
       (SELECT MAX(due_at) FROM notice WHERE due_at IS NOT NULL) AS last_notice`,
  )
  const times = Object.values(row ?? {}).filter((time) => time !== null)
  return times.length === 0 ? null : { next: Math.min(...times), last: Math.max(...times) }
}

/** What is due after `beyond` becomes due now. */
export async function bringForward(tx: Transaction, beyond: number, now: number): Promise<void> {
  await tx.run('/* delivery */ UPDATE inbound_subscription SET due_at = $2 WHERE due_at > $1', beyond, now)
  await tx.run('/* delivery */ UPDATE notice SET due_at = $2 WHERE due_at > $1', beyond, now)
}

export interface ClaimedLane extends LaneKey {
  /** Of the peer. */
  readonly baseuri: string
  /** Failures of the peer in a row, as far as they are stored. */
  readonly failures: number
}

/**
 * Takes due lanes until `until`: nobody else touches them before, and everybody may after. A peer that is failing, or
 * whose open circuit allows a probe, has at most one lane taken by all processes together (decision 026).
 */
export async function claimLanes(
  tx: Transaction,
  { now, until, limit, without }: { now: number; until: number; limit: number; without: readonly string[] },
): Promise<ClaimedLane[]> {
  return tx.all(
    `/* delivery */ UPDATE inbound_subscription SET due_at = $2, claimed_until = $2
     WHERE (actor_id, peer_id, subscription_id) IN (
       SELECT s.actor_id, s.peer_id, s.subscription_id FROM inbound_subscription s
       WHERE s.due_at <= $1 AND s.actor_id NOT IN (SELECT actor FROM rows($4, actor TEXT) AS busy)
         AND NOT EXISTS (
           SELECT 1 FROM trust t
           JOIN inbound_subscription o ON o.actor_id = t.actor_id AND o.peer_id = t.peer_id
           WHERE t.actor_id = s.actor_id AND t.peer_id = s.peer_id
             AND t.failures > 0 AND (t.open_until IS NULL OR t.open_until <= $1)
             AND o.subscription_id <> s.subscription_id
             AND (o.claimed_until > $1 OR o.due_at < s.due_at
               OR (o.due_at = s.due_at AND o.subscription_id < s.subscription_id)))
       ORDER BY s.due_at LIMIT $3 /*postgres: FOR UPDATE SKIP LOCKED */)
     RETURNING actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId",
       (SELECT t.baseuri FROM trust t WHERE t.actor_id = inbound_subscription.actor_id
          AND t.peer_id = inbound_subscription.peer_id) AS baseuri,
       (SELECT t.failures FROM trust t WHERE t.actor_id = inbound_subscription.actor_id
          AND t.peer_id = inbound_subscription.peer_id) AS failures`,
    now,
    until,
    limit,
    JSON.stringify(without.map((actorId) => [actorId])),
  )
}

/** Holds a lane for longer. False when the hold was lost. */
export async function prolong(tx: Transaction, lane: LaneKey, held: number, until: number): Promise<boolean> {
  const updated = await tx.run(
    `/* delivery */ UPDATE inbound_subscription SET claimed_until = $5, due_at = $5
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND claimed_until = $4`,
    lane.actorId,
    lane.peerId,
    lane.subscriptionId,
    held,
    until,
  )
  return updated === 1
}

/** Takes the one attempt that an open circuit allows after its time. False when another process has it. */
export async function claimProbe(
  tx: Transaction,
  { actorId, peerId }: Pick<LaneKey, 'actorId' | 'peerId'>,
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

/** Puts the whole state in the place of the latest number. False when there is a later one by now. */
export async function putFullState(tx: Transaction, lane: LaneKey, sequence: number, data: JsonText): Promise<boolean> {
  const updated = await tx.run(
    `/* delivery */ UPDATE diff SET kind = 'full', data = $5, replaces = 1, cleared_at = NULL
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence = $4 AND sequence = (
       SELECT s.sequence FROM inbound_subscription s
       WHERE s.actor_id = $1 AND s.peer_id = $2 AND s.subscription_id = $3)`,
    lane.actorId,
    lane.peerId,
    lane.subscriptionId,
    sequence,
    data,
  )
  return updated === 1
}

/** One number that was sent. */
export interface Attempt {
  readonly sequence: number
  readonly outcome: 'waiting' | 'delivered' | 'failed'
  readonly reason: string
  readonly sentAt: number
  readonly answeredAt: number | null
}

/** What a turn of a lane came to. */
export interface Settlement {
  readonly lane: LaneKey
  /** As claimed; without effect on the lane when somebody else holds it by now. */
  readonly held: number
  /** No attempt is needed any more up to here. */
  readonly settled: number
  /** Of the number after that: how often it was tried, and how often with an outcome that nobody knows. */
  readonly tries: number
  readonly uncertain: number
  readonly failingSince: number | null
  readonly state: 'live' | 'stopped'
  /** When to go on: at a time; `now`, keeping the lane, when anything waits; `asleep` not before the next change. */
  readonly next: number | 'now' | 'asleep'
  /** In their order. */
  readonly attempts: readonly Attempt[]
  /** What the attempts make of the circuit of the peer, whatever other lanes made of it meanwhile; null for nothing. */
  readonly circuit: ((before: Circuit) => Circuit) | null
}

/** As many numbers that arrived in a row are noted together. */
const leastRun = 4

/** Whether each lane is still held and has more to do now. A fixed number of statements for any number of lanes. */
export async function settle(
  tx: Transaction,
  settlements: readonly Settlement[],
  now: number,
): Promise<readonly boolean[]> {
  const lanes = await settleLanes(tx, settlements)
  // Of a lane that somebody else holds by now nothing is settled: there each number says for itself that it arrived.
  const noted = settlements.map((settlement) => ({
    ...settlement,
    run: lanes.has(keyOf(settlement.lane)) ? runLength(settlement.attempts) : 0,
  }))
  // On their way together; what comes later finds what the ones before have done.
  await Promise.all([
    noteRuns(tx, noted),
    noteAttempts(tx, noted),
    supersede(tx, settlements),
    settleCircuits(tx, settlements, now),
  ])
  return settlements.map(({ lane }) => lanes.get(keyOf(lane)) === true)
}

/** How many of the first attempts are noted together. */
function runLength(attempts: readonly Attempt[]): number {
  const first = attempts[0]?.sequence ?? 0
  const end = attempts.findIndex(
    ({ sequence, outcome }, index) => outcome !== 'delivered' || sequence !== first + index,
  )
  const length = end < 0 ? attempts.length : end
  return length < leastRun ? 0 : length
}

interface Noted extends Settlement {
  /** So many of its attempts are noted together. */
  readonly run: number
}

async function noteRuns(tx: Transaction, noted: readonly Noted[]): Promise<void> {
  const rows = noted.flatMap(({ lane, attempts, run }) => {
    const [first, last] = [attempts[0], attempts[run - 1]]
    if (first === undefined || last === undefined) return []
    const ended = last.answeredAt ?? last.sentAt
    const times = attempts
      .slice(0, run)
      .flatMap(({ sentAt, answeredAt }) => [ended - sentAt, ended - (answeredAt ?? sentAt)])
    return [
      [lane.actorId, lane.peerId, lane.subscriptionId, last.sequence, first.sequence, JSON.stringify(times), ended],
    ]
  })
  if (rows.length === 0) return
  await tx.run(
    `/* delivery */ INSERT INTO delivery_run (actor_id, peer_id, subscription_id, sequence, first, times, ended_at)
     SELECT actor, peer, subscription, final, initial, moments, ended
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, final BIGINT, initial BIGINT, moments TEXT, ended BIGINT) AS r
     WHERE true ON CONFLICT DO NOTHING`,
    JSON.stringify(rows),
  )
}

/** The lanes that were held, each with whether it still is. */
async function settleLanes(tx: Transaction, settlements: readonly Settlement[]): Promise<ReadonlyMap<string, boolean>> {
  const rows = await tx.all<LaneKey & { readonly heldUntil: number }>(
    `/* delivery */ UPDATE inbound_subscription SET
       settled = CASE WHEN settled < r.done THEN r.done ELSE settled END,
       attempts = r.tries, uncertain = r.doubts, failing_since = r.failing, state = r.standing,
       claimed_until = CASE WHEN r.due = 0 AND sequence > r.done AND sequence > settled THEN r.held ELSE 0 END,
       due_at = CASE
         WHEN r.due = -1 OR sequence <= r.done OR sequence <= settled THEN NULL
         WHEN r.due > 0 THEN r.due
         ELSE r.held END
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, held BIGINT, done BIGINT, tries BIGINT, doubts BIGINT,
       failing BIGINT, standing TEXT, due BIGINT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer AND subscription_id = r.subscription AND claimed_until = r.held
     RETURNING actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId",
       claimed_until AS "heldUntil"`,
    JSON.stringify(
      settlements.map(({ lane, next, ...made }) => [
        lane.actorId,
        lane.peerId,
        lane.subscriptionId,
        made.held,
        made.settled,
        made.tries,
        made.uncertain,
        made.failingSince,
        made.state,
        next === 'asleep' ? -1 : next === 'now' ? 0 : next,
      ]),
    ),
  )
  return new Map(rows.map((row) => [keyOf(row), row.heldUntil > 0]))
}

async function noteAttempts(tx: Transaction, noted: readonly Noted[]): Promise<void> {
  const rows = noted.flatMap(({ lane, attempts, run }) =>
    attempts
      .slice(run)
      .map(({ sequence, outcome, reason, sentAt, answeredAt }) => [
        lane.actorId,
        lane.peerId,
        lane.subscriptionId,
        sequence,
        outcome,
        reason,
        sentAt,
        answeredAt,
      ]),
  )
  if (rows.length === 0) return
  await tx.run(
    `/* delivery */ UPDATE delivery SET attempts = attempts + 1, sent_at = r.sent, answered_at = r.answered,
       outcome = CASE WHEN outcome = 'waiting' OR r.ending = 'delivered' THEN r.ending ELSE outcome END,
       reason = r.why
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, number BIGINT, ending TEXT, why TEXT, sent BIGINT,
       answered BIGINT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer AND subscription_id = r.subscription AND sequence = r.number`,
    JSON.stringify(rows),
  )
}

/** What a resync, or the whole state, stands for. */
async function supersede(tx: Transaction, settlements: readonly Settlement[]): Promise<void> {
  const passed = settlements.filter(({ settled, attempts }) => settled > (attempts.at(-1)?.sequence ?? 0))
  if (passed.length === 0) return
  await tx.run(
    `/* delivery */ UPDATE delivery SET outcome = 'superseded'
     WHERE outcome = 'waiting' AND (actor_id, peer_id, subscription_id, sequence) IN (
       SELECT w.actor_id, w.peer_id, w.subscription_id, w.sequence
       FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, done BIGINT) AS r
       JOIN delivery w ON w.actor_id = r.actor AND w.peer_id = r.peer AND w.subscription_id = r.subscription
         AND w.sequence <= r.done AND w.outcome = 'waiting')`,
    JSON.stringify(passed.map(({ lane, settled }) => [lane.actorId, lane.peerId, lane.subscriptionId, settled])),
  )
}

async function settleCircuits(tx: Transaction, settlements: readonly Settlement[], now: number): Promise<void> {
  const changed = settlements.filter(({ circuit }) => circuit !== null)
  if (changed.length === 0) return
  const changes = Map.groupBy(changed, ({ lane }) => peerKeyOf(lane))
  const rows = (await lockCircuits(tx, [...changes.keys()])).map(({ actorId, peerId, ...before }) => {
    const ofPeer = changes.get(peerKeyOf({ actorId, peerId })) ?? []
    return { actorId, peerId, before, after: ofPeer.reduce((made, { circuit }) => circuit?.(made) ?? made, before) }
  })
  await tx.run(
    `/* delivery */ UPDATE trust SET failures = r.fails, open_until = r.until
     FROM rows($1, actor TEXT, peer TEXT, fails BIGINT, until BIGINT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer`,
    JSON.stringify(rows.map(({ actorId, peerId, after }) => [actorId, peerId, after.failures, after.openUntil])),
  )
  const recovered = rows.filter(({ before, after }) => before.openUntil !== null && after.openUntil === null)
  if (recovered.length === 0) return
  await tx.run(
    `/* delivery */ UPDATE inbound_subscription SET due_at = $2
     FROM rows($1, actor TEXT, peer TEXT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer AND due_at IS NOT NULL AND claimed_until < $2`,
    JSON.stringify(recovered.map(({ actorId, peerId }) => [actorId, peerId])),
    now,
  )
}

type Peer = Pick<LaneKey, 'actorId' | 'peerId'>

/** Lanes of one peer settle in several transactions at once: each counts on from what the one before stored. */
function lockCircuits(tx: Transaction, peerKeys: readonly string[]): Promise<(Peer & Circuit)[]> {
  return tx.all(
    `/* delivery */ SELECT t.actor_id AS "actorId", t.peer_id AS "peerId", t.failures, t.open_until AS "openUntil"
     FROM rows($1, actor TEXT, peer TEXT) AS r
     JOIN trust t ON t.actor_id = r.actor AND t.peer_id = r.peer
     ORDER BY t.actor_id, t.peer_id /*postgres: FOR UPDATE OF t */`,
    `[${peerKeys.join(',')}]`,
  )
}

function peerKeyOf({ actorId, peerId }: Peer): string {
  return JSON.stringify([actorId, peerId])
}

function keyOf({ actorId, peerId, subscriptionId }: LaneKey): string {
  return JSON.stringify([actorId, peerId, subscriptionId])
}

/** Gives lanes back that were not begun, to be taken at that time. */
export async function release(
  tx: Transaction,
  lanes: readonly { readonly lane: LaneKey; readonly held: number }[],
  dueAt: number,
): Promise<void> {
  await tx.run(
    `/* delivery */ UPDATE inbound_subscription SET claimed_until = 0,
       due_at = CASE WHEN sequence > settled THEN CAST($2 AS BIGINT) ELSE NULL END
     FROM rows($1, actor TEXT, peer TEXT, subscription TEXT, held BIGINT) AS r
     WHERE actor_id = r.actor AND peer_id = r.peer AND subscription_id = r.subscription AND claimed_until = r.held`,
    JSON.stringify(lanes.map(({ lane, held }) => [lane.actorId, lane.peerId, lane.subscriptionId, held])),
    dueAt,
  )
}

/**
 * Lets what failed for good, and is still kept, be sent again in its place; stopped lanes go on. Without ids, for every
 * actor, peer or subscription. The number of changes that are sent again.
 */
export async function redriveLanes(tx: Transaction, of: Partial<LaneKey>, now: number): Promise<number> {
  const given = Object.entries({
    actor_id: of.actorId,
    peer_id: of.peerId,
    subscription_id: of.subscriptionId,
  }).flatMap(([column, value]) => (value === undefined ? [] : [[column, value] as const]))
  const params = given.map(([, value]) => value)
  const where = (table: string): string =>
    given.map(([column], index) => ` AND ${table}.${column} = $${index + 1}`).join('')
  // What arrived in a run is not sent again when its lane goes back behind it.
  await tx.run(
    `/* delivery */ UPDATE delivery SET outcome = 'delivered'
     WHERE outcome = 'waiting' AND sequence <= (SELECT s.settled FROM inbound_subscription s
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
    `/* delivery */ UPDATE inbound_subscription SET state = 'live', attempts = 0, uncertain = 0, failing_since = NULL,
       settled = COALESCE((SELECT MIN(w.sequence) - 1 FROM delivery w WHERE w.actor_id = inbound_subscription.actor_id
         AND w.peer_id = inbound_subscription.peer_id AND w.subscription_id = inbound_subscription.subscription_id
         AND w.outcome = 'waiting'), settled),
       due_at = CASE WHEN claimed_until > $${params.length + 1} THEN due_at ELSE CAST($${params.length + 1} AS BIGINT) END
     WHERE granularity IN ('high', 'low') AND EXISTS (SELECT 1 FROM delivery w
       WHERE w.actor_id = inbound_subscription.actor_id AND w.peer_id = inbound_subscription.peer_id
         AND w.subscription_id = inbound_subscription.subscription_id AND w.outcome = 'waiting')${where('inbound_subscription')}`,
    ...params,
    now,
  )
  return redriven
}

/** How many lanes have something to send. */
export async function countLanes(q: Queries): Promise<number> {
  const row = await q.get<{ lanes: number }>(
    '/* delivery */ SELECT COUNT(*) AS lanes FROM inbound_subscription WHERE due_at IS NOT NULL',
  )
  return row?.lanes ?? 0
}

/** Up to `limit` subscriptions with diffs from before `since`, each with the last of them. */
export async function findAged(
  q: Queries,
  since: number,
  limit: number,
): Promise<(LaneKey & { readonly upTo: number })[]> {
  return q.all(
    `/* delivery */ SELECT actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId",
       MAX(sequence) AS "upTo"
     FROM diff
     WHERE created_at < $1 AND kind <> 'resync' GROUP BY actor_id, peer_id, subscription_id LIMIT $2`,
    since,
    limit,
  )
}

/** The time lines of what is not kept any more. */
export async function deleteOldDeliveries(tx: Transaction, before: number): Promise<void> {
  await tx.run(
    `/* delivery */ DELETE FROM delivery WHERE written_at < $1 AND (outcome <> 'waiting' OR sequence <= (
       SELECT s.settled FROM inbound_subscription s WHERE s.actor_id = delivery.actor_id
         AND s.peer_id = delivery.peer_id AND s.subscription_id = delivery.subscription_id))`,
    before,
  )
  await tx.run('/* delivery */ DELETE FROM delivery_run WHERE ended_at < $1', before)
}
