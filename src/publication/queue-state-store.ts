/** The SQL of what lanes send next. */
import type { JsonText } from '../json/json.ts'
import { parseOrigin } from '../actor/origin.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Queries, Row } from '../store/store.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import type { LaneKey } from './queue-store.ts'
import type { Circuit } from '../outbox/policy.ts'

/** A lane with everything that is needed to send from it, but what it sends. */
export interface Head {
  readonly target: string
  readonly subtarget: string
  readonly resource: string
  readonly granularity: string
  readonly sequence: number
  /** Of the first that waits: how often it was tried, and how often with an outcome that nobody knows. */
  readonly tries: number
  readonly uncertain: number
  readonly failingSince: number | null
  readonly state: string
  readonly claimedUntil: number
  readonly baseuri: string
  readonly relationship: string
  readonly secret: Sealed
  readonly approved: boolean
  readonly facts: TrustFacts
  readonly circuit: Circuit
  /** Lanes of the peer that any process has taken, while the peer is failing; else 0. */
  readonly taken: number
  /** Until then somebody looks on while the actor changes (Unix milliseconds). */
  readonly watchedUntil: number
}

/** One number that waits. */
export interface Waiting {
  readonly sequence: number
  /** `full` is the whole state in place of a resync that the peer would not understand. */
  readonly kind: 'diff' | 'resync' | 'full'
  readonly data: JsonText
  readonly replaces: boolean
  readonly createdAt: number
  /** How many changes, each caused by the news of the one before, led to it. */
  readonly hops: number
  /** `traceparent` of what made it; null for what no trace knows of. */
  readonly trace: string | null
  /** Id of the request that made it; null where no request did. */
  readonly requestId: string | null
}

/** `data` is null where it is too long to come with others. */
type WaitingRow = Row<Omit<Waiting, 'data' | 'trace' | 'requestId'>> & {
  readonly place: number
  readonly data: JsonText | null
  readonly origin: string
}

type HeadRow = Row<Omit<Head, 'facts' | 'circuit'>> & Circuit & { readonly facts: string }

/** By lane; none where the subscription or the relationship is gone. One statement for all of them. */
export async function findHeads(
  q: Queries,
  lanes: readonly LaneKey[],
  now: number,
): Promise<ReadonlyMap<LaneKey, Head>> {
  const rows = await q.all<HeadRow & { readonly place: number }>(
    `/* delivery */ SELECT lane.place, s.target, s.subtarget, s.resource, s.granularity, s.sequence,
       s.attempts AS tries, s.uncertain, s.failing_since AS "failingSince", s.state, s.claimed_until AS "claimedUntil",
       t.baseuri, t.relationship, t.secret, t.approved, t.facts, t.failures, t.open_until AS "openUntil",
       a.watched_until AS "watchedUntil",
       CASE WHEN t.failures > 0 THEN (
         SELECT COUNT(*) FROM inbound_subscription o
         WHERE o.actor_id = s.actor_id AND o.peer_id = s.peer_id AND o.claimed_until > $2) ELSE 0 END AS taken
     FROM rows($1, place BIGINT, actor TEXT, peer TEXT, subscription TEXT) AS lane
     JOIN inbound_subscription s ON s.actor_id = lane.actor AND s.peer_id = lane.peer
       AND s.subscription_id = lane.subscription
     JOIN trust t ON t.actor_id = s.actor_id AND t.peer_id = s.peer_id
     JOIN actor a ON a.id = s.actor_id`,
    placesOf(lanes),
    now,
  )
  const found = new Map(rows.map(({ place, ...row }) => [place, toHead(row)]))
  return new Map(
    lanes.flatMap((lane, place) => {
      const head = found.get(place)
      return head === undefined ? [] : [[lane, head]]
    }),
  )
}

function toHead({ failures, openUntil, ...row }: HeadRow): Head {
  return {
    ...row,
    approved: row.approved !== 0,
    facts: JSON.parse(row.facts) as TrustFacts,
    circuit: { failures, openUntil },
  }
}

/**
 * What waits, by lane and ascending: up to `most` numbers, up to the first whose data have more than `characters`; that
 * one comes alone, when it is the first. One statement for all of them.
 */
export async function findWaiting(
  q: Queries,
  lanes: readonly LaneKey[],
  { most, characters }: { most: number; characters: number },
): Promise<ReadonlyMap<LaneKey, readonly Waiting[]>> {
  if (lanes.length === 0) return new Map()
  const rows = await q.all<WaitingRow>(
    `/* delivery */ WITH lane AS MATERIALIZED (
       SELECT asked.place, asked.actor, asked.peer, asked.subscription, (
         SELECT w.sequence FROM delivery w
         JOIN diff u ON u.actor_id = w.actor_id AND u.peer_id = w.peer_id AND u.subscription_id = w.subscription_id
           AND u.sequence = w.sequence
         WHERE w.actor_id = asked.actor AND w.peer_id = asked.peer AND w.subscription_id = asked.subscription
           AND w.sequence > s.settled AND w.outcome = 'waiting'
         ORDER BY w.sequence LIMIT 1) AS first
       FROM rows($1, place BIGINT, actor TEXT, peer TEXT, subscription TEXT) AS asked
       JOIN inbound_subscription s ON s.actor_id = asked.actor AND s.peer_id = asked.peer
         AND s.subscription_id = asked.subscription
     )
     SELECT lane.place, d.sequence, d.kind, d.replaces, d.created_at AS "createdAt", d.hops, w.origin,
       CASE WHEN d.sequence = lane.first OR LENGTH(d.data) <= $3 THEN d.data END AS data
     FROM lane
     JOIN diff d ON d.actor_id = lane.actor AND d.peer_id = lane.peer AND d.subscription_id = lane.subscription
       AND d.sequence >= lane.first AND d.sequence < lane.first + $2
     JOIN delivery w ON w.actor_id = d.actor_id AND w.peer_id = d.peer_id
       AND w.subscription_id = d.subscription_id AND w.sequence = d.sequence AND w.outcome = 'waiting'`,
    placesOf(lanes),
    most,
    characters,
  )
  const found = Map.groupBy(rows, ({ place }) => place)
  return new Map(lanes.map((lane, place) => [lane, untilLong(found.get(place) ?? [], characters)]))
}

function untilLong(rows: readonly WaitingRow[], characters: number): readonly Waiting[] {
  const waiting: Waiting[] = []
  for (const row of rows.toSorted((a, b) => a.sequence - b.sequence)) {
    if (row.data === null) break
    waiting.push(toWaiting(row, row.data))
    if (row.data.length > characters) break
  }
  return waiting
}

function toWaiting({ sequence, kind, replaces, createdAt, hops, origin }: WaitingRow, data: JsonText): Waiting {
  const { trace = null, request: requestId = null } = parseOrigin(origin) ?? {}
  return { sequence, kind, data, replaces: replaces !== 0, createdAt, hops, trace, requestId }
}

function placesOf(lanes: readonly LaneKey[]): string {
  return JSON.stringify(lanes.map((lane, place) => [place, lane.actorId, lane.peerId, lane.subscriptionId]))
}
