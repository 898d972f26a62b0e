/** The SQL of facts about one actor for operators. It never reads a stored value. */
import type { Queries } from '../store/store.ts'

/** Relationships and sessions that are shown. The counts have no limit. */
export const maxShown = 100

export interface ActorFacts {
  readonly id: string
  readonly creator: string
  /** Times are Unix milliseconds. */
  readonly createdAt: number
  /** A person who proves the creator to a provider is signed in to this actor. */
  readonly isProven: boolean
  readonly isSuspended: boolean
  readonly properties: Amount
  readonly lists: Amount & { readonly items: number }
  readonly relationships: { readonly count: number; readonly shown: readonly ShownRelationship[] }
  readonly subscriptions: { readonly ofPeers: number; readonly toPeers: number }
  readonly sessions: { readonly count: number; readonly shown: readonly ShownSession[] }
  /** Last use of the passphrase with Basic authentication, to ten minutes. Null: never. */
  readonly basicUsedAt: number | null
  /** Last use of the passphrase, a session or a relationship. Null: never. */
  readonly lastUsedAt: number | null
}

interface Amount {
  readonly count: number
  readonly bytes: number
}

interface ShownRelationship {
  readonly peerId: string
  readonly relationship: string
  /** Empty for a client. */
  readonly baseuri: string
  readonly approved: number
  readonly peerApproved: number
  readonly lastAccessed: number
}

interface ShownSession {
  readonly device: string
  readonly beganWith: string
  readonly createdAt: number
  readonly lastUsedAt: number
}

/** Returns null when the actor does not exist. The number of statements does not depend on the data. */
export async function actorFacts(q: Queries, id: string): Promise<ActorFacts | null> {
  const actor = await q.get<{
    creator: string
    createdAt: number
    residence: string
    basicUsedAt: number | null
    verified: number | null
  }>(
    `SELECT a.creator, a.created_at AS "createdAt", a.residence, a.basic_used_at AS "basicUsedAt", c.verified FROM actor a
     LEFT JOIN account c ON c.actor_id = a.id WHERE a.id = $1`,
    id,
  )
  if (actor === undefined) return null
  const sessions = await countOf(
    q,
    `SELECT count(*) AS count, max(last_used_at) AS last FROM token_chain
     WHERE actor_id = $1 AND kind = 'session'`,
    id,
  )
  const relationships = await countOf(
    q,
    'SELECT count(*) AS count, max(last_accessed) AS last FROM trust WHERE actor_id = $1',
    id,
  )
  const used = [actor.basicUsedAt, sessions.last, relationships.last].filter((time) => time !== null)
  return {
    id,
    creator: actor.creator,
    createdAt: actor.createdAt,
    isProven: actor.verified === 1,
    isSuspended: actor.residence === 'suspended',
    ...(await dataFacts(q, id)),
    relationships: { count: relationships.count, shown: await shownRelationships(q, id) },
    subscriptions: await subscriptionFacts(q, id),
    sessions: { count: sessions.count, shown: await shownSessions(q, id) },
    basicUsedAt: actor.basicUsedAt,
    lastUsedAt: used.length === 0 ? null : Math.max(...used),
  }
}

async function countOf(q: Queries, sql: string, id: string): Promise<{ count: number; last: number | null }> {
  return (await q.get<{ count: number; last: number | null }>(sql, id)) ?? { count: 0, last: null }
}

async function dataFacts(q: Queries, id: string): Promise<Pick<ActorFacts, 'properties' | 'lists'>> {
  const kinds = await q.all<{ isList: number } & Amount>(
    `SELECT CASE WHEN kind = 'list' THEN 1 ELSE 0 END AS "isList", count(*) AS count,
       CAST(COALESCE(sum(octet_length(value)), 0) AS BIGINT) AS bytes
     FROM property WHERE actor_id = $1 GROUP BY 1`,
    id,
  )
  const items = await q.get<Amount>(
    `SELECT count(*) AS count, CAST(COALESCE(sum(octet_length(value)), 0) AS BIGINT) AS bytes
     FROM list_item WHERE actor_id = $1`,
    id,
  )
  const properties = kinds.find(({ isList }) => isList === 0)
  const lists = kinds.find(({ isList }) => isList === 1)
  return {
    properties: { count: properties?.count ?? 0, bytes: properties?.bytes ?? 0 },
    lists: { count: lists?.count ?? 0, items: items?.count ?? 0, bytes: items?.bytes ?? 0 },
  }
}

async function subscriptionFacts(q: Queries, id: string): Promise<ActorFacts['subscriptions']> {
  const ofPeers = await q.get<{ count: number }>(
    'SELECT count(*) AS count FROM publisher_subscription WHERE actor_id = $1',
    id,
  )
  const toPeers = await q.get<{ count: number }>(
    'SELECT count(*) AS count FROM subscriber_subscription WHERE actor_id = $1',
    id,
  )
  return { ofPeers: ofPeers?.count ?? 0, toPeers: toPeers?.count ?? 0 }
}

function shownRelationships(q: Queries, id: string): Promise<ShownRelationship[]> {
  return q.all<ShownRelationship>(
    `SELECT peer_id AS "peerId", relationship, baseuri, approved, peer_approved AS "peerApproved",
       last_accessed AS "lastAccessed"
     FROM trust WHERE actor_id = $1 ORDER BY peer_id LIMIT $2`,
    id,
    maxShown,
  )
}

function shownSessions(q: Queries, id: string): Promise<ShownSession[]> {
  return q.all<ShownSession>(
    `SELECT device, began_with AS "beganWith", created_at AS "createdAt", last_used_at AS "lastUsedAt"
     FROM token_chain WHERE actor_id = $1 AND kind = 'session' ORDER BY last_used_at DESC LIMIT $2`,
    id,
    maxShown,
  )
}
