/** The SQL that reads subscription queues for sending. */
import type { JsonText } from '../json/json.ts'
import { parseOrigin } from '../origin.ts'
import type { Sealed } from '../secret/sealed.ts'
import { byActor, naming } from '../store/by-key.ts'
import type { Queries, Row } from '../store/store.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import { isApprovedAt } from '../trust/trust.ts'
import type { QueueKey, Repair } from './queue-store.ts'
import type { Circuit } from '../outbox/policy.ts'

/** A subscription queue with its relationship, without its diffs. */
export interface QueueState {
  readonly target: string
  readonly subtarget: string
  readonly resource: string
  readonly granularity: string
  readonly sequence: number
  /** Attempts for the first waiting diff, and how many of them had an unknown outcome. */
  readonly tries: number
  readonly uncertain: number
  readonly failingSince: number | null
  readonly state: string
  readonly repair: Repair
  readonly leasedUntil: number
  readonly baseuri: string
  readonly relationship: string
  readonly secret: Sealed
  readonly approved: boolean
  /** The approval of the peer, as it last reported. Its message may have been lost. */
  readonly peerApproved: boolean
  readonly facts: TrustFacts
  readonly circuit: Circuit
  /** Number of queues of a failing peer that any process has leased. 0 while the peer is not failing. */
  readonly leased: number
  /** A page or client watches the actor until this time (Unix milliseconds). */
  readonly watchedUntil: number
}

/** A diff that waits to be sent. */
export interface QueuedDiff {
  readonly sequence: number
  /** `full` is the full state, for peers without support for resync callbacks. `erasure`: see `StoredDiff`. */
  readonly kind: 'diff' | 'resync' | 'full' | 'erasure'
  readonly data: JsonText
  readonly replaces: boolean
  readonly createdAt: number
  /** Number of changes that led to this one, each made by a handler of the one before. */
  readonly hops: number
  /** `traceparent` of the change. Null: no trace. */
  readonly trace: string | null
  /** Id of the request that made the change. Null: no request. */
  readonly requestId: string | null
}

/** `data` is null when it is too long to be read with other diffs. */
type QueuedDiffRow = Row<Omit<QueuedDiff, 'data' | 'trace' | 'requestId'>> & {
  readonly place: number
  readonly data: JsonText | null
  readonly origin: string
}

type QueueStateRow = Row<Omit<QueueState, 'facts' | 'circuit' | 'repair'>> &
  Circuit & {
    readonly facts: string
    readonly approvedUntil: number | null
    readonly repairAt: number | null
    readonly repairs: number
  }

/** One statement for all queues. A queue is missing when its subscription or relationship was deleted. */
export async function findQueueStates(
  q: Queries,
  queues: readonly QueueKey[],
  now: number,
): Promise<ReadonlyMap<QueueKey, QueueState>> {
  const rows = await byActor(q, placesOf(queues), actorOfPlace, (own, only) => {
    const named = naming(only, 's.actor_id', 3)
    return q.all<QueueStateRow & { readonly place: number }>(
      `/* delivery */ SELECT queue.place, s.target, s.subtarget, s.resource, s.granularity, s.sequence,
       s.attempts AS tries, s.uncertain, s.failing_since AS "failingSince", s.state, s.repair_at AS "repairAt", s.repairs,
       s.leased_until AS "leasedUntil",
       t.baseuri, t.relationship, t.secret, t.approved, t.approved_until AS "approvedUntil",
       t.peer_approved AS "peerApproved", t.facts, t.failures, t.open_until AS "openUntil",
       a.watched_until AS "watchedUntil",
       CASE WHEN t.failures > 0 THEN (
         SELECT COUNT(*) FROM publisher_subscription o
         WHERE o.actor_id = ${only === null ? 's.actor_id' : '$3'} AND o.peer_id = s.peer_id AND o.leased_until > $2) ELSE 0 END AS leased
     FROM rows($1, place BIGINT, actor TEXT, peer TEXT, subscription TEXT) AS queue
     JOIN publisher_subscription s ON s.actor_id = queue.actor AND s.peer_id = queue.peer
       AND s.subscription_id = queue.subscription
     JOIN trust t ON t.actor_id = s.actor_id AND t.peer_id = s.peer_id
     JOIN actor a ON a.id = s.actor_id${named.sql}`,
      JSON.stringify(own),
      now,
      ...named.params,
    )
  })
  const found = new Map(rows.map(({ place, ...row }) => [place, toQueueState(row, now)]))
  return new Map(
    queues.flatMap((queue, place) => {
      const state = found.get(place)
      return state === undefined ? [] : [[queue, state]]
    }),
  )
}

function toQueueState(
  { failures, openUntil, approvedUntil, repairAt, repairs, ...row }: QueueStateRow,
  now: number,
): QueueState {
  return {
    ...row,
    approved: isApprovedAt({ approved: row.approved !== 0, approvedUntil }, now),
    peerApproved: row.peerApproved !== 0,
    facts: JSON.parse(row.facts) as TrustFacts,
    circuit: { failures, openUntil },
    repair: { at: repairAt, failures: repairs },
  }
}

/**
 * The waiting diffs of each queue, ascending: at most `most`, and only those before the first one with more than
 * `characters`. Such a diff is read alone. One statement for all queues.
 */
export async function findQueuedDiffs(
  q: Queries,
  queues: readonly QueueKey[],
  { most, characters }: { most: number; characters: number },
): Promise<ReadonlyMap<QueueKey, readonly QueuedDiff[]>> {
  if (queues.length === 0) return new Map()
  const rows = await byActor(q, placesOf(queues), actorOfPlace, (own, only) => {
    const named = (column: string) => naming(only, column, 4).sql
    return q.all<QueuedDiffRow>(
      `/* delivery */ WITH queue AS MATERIALIZED (
       SELECT asked.place, asked.actor, asked.peer, asked.subscription, (
         SELECT w.sequence FROM delivery w
         JOIN diff u ON u.actor_id = w.actor_id AND u.peer_id = w.peer_id AND u.subscription_id = w.subscription_id
           AND u.sequence = w.sequence
         WHERE w.actor_id = asked.actor AND w.peer_id = asked.peer AND w.subscription_id = asked.subscription
           AND w.sequence > s.committed AND w.outcome = 'waiting'${named('w.actor_id')}
         ORDER BY w.sequence LIMIT 1) AS first
       FROM rows($1, place BIGINT, actor TEXT, peer TEXT, subscription TEXT) AS asked
       JOIN publisher_subscription s ON s.actor_id = asked.actor AND s.peer_id = asked.peer
         AND s.subscription_id = asked.subscription${named('s.actor_id')}
     )
     SELECT queue.place, d.sequence, d.kind, d.replaces, d.created_at AS "createdAt", d.hops, w.origin,
       CASE WHEN d.sequence = queue.first OR LENGTH(d.data) <= $3 THEN d.data END AS data
     FROM queue
     JOIN diff d ON d.actor_id = queue.actor AND d.peer_id = queue.peer AND d.subscription_id = queue.subscription
       AND d.sequence >= queue.first AND d.sequence < queue.first + $2
     JOIN delivery w ON w.actor_id = d.actor_id AND w.peer_id = d.peer_id
       AND w.subscription_id = d.subscription_id AND w.sequence = d.sequence AND w.outcome = 'waiting'
       ${named('d.actor_id')}${named('w.actor_id')}`,
      JSON.stringify(own),
      most,
      characters,
      ...naming(only, '', 4).params,
    )
  })
  const found = Map.groupBy(rows, ({ place }) => place)
  return new Map(queues.map((queue, place) => [queue, untilLong(found.get(place) ?? [], characters)]))
}

function untilLong(rows: readonly QueuedDiffRow[], characters: number): readonly QueuedDiff[] {
  const waiting: QueuedDiff[] = []
  for (const row of rows.toSorted((a, b) => a.sequence - b.sequence)) {
    if (row.data === null) break
    waiting.push(toQueuedDiff(row, row.data))
    if (row.data.length > characters) break
  }
  return waiting
}

function toQueuedDiff(
  { sequence, kind, replaces, createdAt, hops, origin }: QueuedDiffRow,
  data: JsonText,
): QueuedDiff {
  const { trace = null, request: requestId = null } = parseOrigin(origin) ?? {}
  return { sequence, kind, data, replaces: replaces !== 0, createdAt, hops, trace, requestId }
}

/** The sequence number of the first diff after `sequence` that deletes a name. Null: none. */
export async function findNextDeletion(
  q: Queries,
  { actorId, peerId, subscriptionId }: QueueKey,
  sequence: number,
): Promise<number | null> {
  const row = await q.get<{ first: number | null }>(
    `/* delivery */ SELECT MIN(sequence) AS first FROM diff
     WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3 AND sequence > $4 AND deletions <> ''`,
    actorId,
    peerId,
    subscriptionId,
    sequence,
  )
  return row?.first ?? null
}

type Place = readonly [place: number, actor: string, peer: string, subscription: string]

function placesOf(queues: readonly QueueKey[]): Place[] {
  return queues.map((queue, place) => [place, queue.actorId, queue.peerId, queue.subscriptionId])
}

function actorOfPlace([, actor]: Place): string {
  return actor
}
