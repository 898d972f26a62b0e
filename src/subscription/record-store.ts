/** Subscriptions of both sides in one list. */
import type { Param, Queries, Row } from '../store/store.ts'
import type { Scope } from './scope.ts'

export interface SubscriptionRecord extends Scope {
  readonly actorId: string
  readonly peerId: string
  readonly subscriptionId: string
  readonly granularity: string
  /** Publisher side: the last sequence number. Subscriber side: the last one that was applied. */
  readonly sequence: number
  /** False: publisher side. True: subscriber side. */
  readonly callback: boolean
  /** Unix milliseconds. */
  readonly createdAt: number
}

export interface Records {
  readonly records: readonly SubscriptionRecord[]
  /** Number of changes of the actor whose diffs are not written yet. */
  readonly waitingChanges: number
}

export interface RecordFilter extends Partial<Scope> {
  readonly peerId?: string
  readonly subscriptionId?: string
}

/** The most records of a page. */
export const recordsOfPage = 1000

/** The next records after one, oldest first, at most `recordsOfPage`. */
export async function findRecords(
  q: Queries,
  actorId: string,
  filter: RecordFilter,
  after: SubscriptionRecord | null = null,
): Promise<Records> {
  const params: Param[] = [actorId]
  const { peerId, subscriptionId, target, subtarget, resource } = filter
  const wanted = { peer_id: peerId, subscription_id: subscriptionId, target, subtarget, resource }
  const conditions = Object.entries(wanted).flatMap(([column, value]) =>
    value === undefined ? [] : [` AND ${column} = $${params.push(value)}`],
  )
  const selects = [
    ['publisher_subscription', 0],
    ['subscriber_subscription', 1],
  ].map(
    ([table, callback]) =>
      `SELECT actor_id, peer_id, subscription_id, target, subtarget, resource, granularity, sequence,
         ${callback} AS callback, created_at
       FROM ${table} WHERE actor_id = $1${conditions.join('')}`,
  )
  const continuing =
    after === null
      ? ''
      : `WHERE (created_at, callback, peer_id, subscription_id) > ($${params.push(after.createdAt)},
         $${params.push(Number(after.callback))}, $${params.push(after.peerId)}, $${params.push(after.subscriptionId)})`
  const rows = await q.all<Row<SubscriptionRecord> & { readonly waitingChanges: number }>(
    `SELECT actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId", target, subtarget, resource,
       granularity, sequence, callback, created_at AS "createdAt",
       (SELECT a.waiting_changes FROM actor a WHERE a.id = $1) AS "waitingChanges"
     FROM (${selects.join(' UNION ALL ')}) AS both_sides ${continuing}
     ORDER BY created_at, callback, peer_id, subscription_id LIMIT ${recordsOfPage}`,
    ...params,
  )
  return {
    records: rows.map(({ waitingChanges: _waiting, ...row }) => ({ ...row, callback: row.callback !== 0 })),
    waitingChanges: rows[0]?.waitingChanges ?? 0,
  }
}
