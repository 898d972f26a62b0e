/** Inserts the rows of records with what the service keeps beside them: hashes, queues and counters. */
import { insertEntries } from '../publication/diff-store.ts'
import { isNull, isObject, known } from '../json/json.ts'
import { hostOf } from '../peer/url-rules.ts'
import { hashSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import { seal } from '../secret/sealed.ts'
import { arrivalPeerSecret, bindingOf, trustToken } from '../secret/sealed-columns.ts'
import type { Transaction } from '../store/store.ts'
import { deliversCallbacks } from '../subscription/scope.ts'
import type { RecordKind } from './record-kinds.ts'
import { type ArchiveMembers, insertRows, recordInteger, type RecordRow, recordText, unfit } from './record-rows.ts'

export interface RestoredRows {
  readonly rows: readonly RecordRow[]
  /** The records of the rows, in the same order. */
  readonly given: readonly ArchiveMembers[]
  /** Unix milliseconds. */
  readonly now: number
  /** Whether peers with a subscription get a resync. */
  readonly hasResync: boolean
  /** For an actor that moves here: seals its new secrets. Its work waits until it is here. Null: the actor is here at once. */
  readonly arrivingWith: KeyRing | null
}

export async function insertKind(tx: Transaction, actorId: string, kind: RecordKind, all: RestoredRows): Promise<void> {
  if (all.rows.length === 0) return
  switch (kind.kind) {
    case 'relationship':
      return insertRelationships(tx, actorId, kind, all)
    case 'alarm':
      return insertAlarms(tx, actorId, kind, all)
    case 'subscription_of_peer':
      return insertSubscriptions(tx, actorId, kind, all)
    case 'delivered':
      return restoreProgress(tx, actorId, all)
    case 'missing_data':
      return markMissing(tx, actorId, all)
    case 'webhook':
      return insertWebhooks(tx, actorId, kind, all)
    case 'waiting_event':
      return insertWaiting(tx, actorId, kind, all)
    default:
      return insertRows(tx, kind, actorId, all.rows)
  }
}

async function insertRelationships(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, given, now, arrivingWith }: RestoredRows,
): Promise<void> {
  if (arrivingWith !== null) return insertArriving(tx, actorId, kind, { rows, now, keyRing: arrivingWith })
  const hashed = rows.map((row, n) => ({
    ...row,
    secret_hash: hashSecret(recordText(given[n] ?? new Map(), kind.kind, 'secret')),
  }))
  await insertRows(tx, kind, actorId, hashed, [['secret_hash', 'TEXT']])
}

/**
 * The peer, and the service itself, use the old secret for calls to the peer until the peer has the new one. Calls from the peer
 * need the new one from the beginning, because the old service knows the old one.
 */
async function insertArriving(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, now, keyRing }: { readonly rows: readonly RecordRow[]; readonly now: number; readonly keyRing: KeyRing },
): Promise<void> {
  const renewed = rows.map((row) => {
    const peerId = String(row['peer_id'])
    const token = seal(keyRing, randomPassphrase(), bindingOf(trustToken, actorId, peerId))
    const secret = randomPassphrase()
    const sealed = seal(keyRing, secret, bindingOf(arrivalPeerSecret, actorId, peerId))
    return { row, token, secret, peer: [peerId, row['baseuri'] ?? '', row['relationship'] ?? '', sealed] }
  })
  await insertRows(
    tx,
    kind,
    actorId,
    renewed.map(({ row, token, secret }) => ({ ...row, verification_token: token, secret_hash: hashSecret(secret) })),
    [['secret_hash', 'TEXT']],
  )
  await tx.run(
    `INSERT INTO arrival_peer (actor_id, peer_id, baseuri, relationship, secret, due_at, updated_at)
     SELECT $1, r.peer, r.baseuri, r.relationship, r.secret, CAST($3 AS BIGINT), CAST($3 AS BIGINT)
     FROM rows($2, peer TEXT, baseuri TEXT, relationship TEXT, secret TEXT) AS r`,
    actorId,
    JSON.stringify(renewed.map(({ peer }) => peer)),
    now,
  )
}

/** Stores how far the callbacks of subscriptions were delivered. Later diffs are delivered from here. */
async function restoreProgress(tx: Transaction, actorId: string, { rows }: RestoredRows): Promise<void> {
  const progress = JSON.stringify(rows.map((row) => [row['peer_id'], row['subscription_id'], row['committed']]))
  const of = 'rows($2, peer TEXT, subscription TEXT, committed BIGINT) AS r'
  await tx.run(
    `UPDATE publisher_subscription SET committed = r.committed FROM ${of}
     WHERE actor_id = $1 AND peer_id = r.peer AND subscription_id = r.subscription`,
    actorId,
    progress,
  )
  await tx.run(
    `INSERT INTO delivery (actor_id, peer_id, subscription_id, sequence, written_at)
     SELECT d.actor_id, d.peer_id, d.subscription_id, d.sequence, d.created_at FROM ${of}
     JOIN publisher_subscription s ON s.actor_id = $1 AND s.peer_id = r.peer AND s.subscription_id = r.subscription
     JOIN diff d ON d.actor_id = $1 AND d.peer_id = r.peer AND d.subscription_id = r.subscription
       AND d.sequence > r.committed
     WHERE s.granularity IN ('high', 'low')`,
    actorId,
    progress,
  )
}

/** The data of these subscriptions is fetched as a whole when the actor is here. */
async function markMissing(tx: Transaction, actorId: string, { rows }: RestoredRows): Promise<void> {
  await tx.run(
    `UPDATE subscriber_subscription SET resync_pending = 1
     FROM rows($2, peer TEXT, subscription TEXT) AS r
     WHERE actor_id = $1 AND peer_id = r.peer AND subscription_id = r.subscription`,
    actorId,
    JSON.stringify(rows.map((row) => [row['peer_id'], row['subscription_id']])),
  )
}

async function insertAlarms(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, now, arrivingWith }: RestoredRows,
): Promise<void> {
  const dueAt = (row: RecordRow) => (arrivingWith === null ? (row['at'] ?? now) : null)
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
  if (!hasResync) return
  const entries = rows.map((row) => {
    const isCallback = deliversCallbacks(String(row['granularity']))
    return {
      peerId: String(row['peer_id']),
      subscriptionId: String(row['subscription_id']),
      sequence: Number(row['sequence']) + 1,
      kind: 'resync' as const,
      data: known('""'),
      replaces: false,
      changed: '',
      isCallback,
      dueAt: isCallback && row['state'] === 'live' ? now : null,
    }
  })
  await insertEntries(tx, actorId, entries, { createdAt: now, hops: 0, origin: '' })
}

async function insertWebhooks(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows }: RestoredRows,
): Promise<void> {
  await insertRows(tx, kind, actorId, rows)
  const queues: RecordKind = {
    ...kind,
    table: 'job',
    members: [
      { name: 'webhook_id', column: 'id', type: 'text' },
      { name: 'host', column: 'data', type: 'text' },
      { name: 'created_at', column: 'created_at', type: 'time' },
    ],
  }
  const jobs = rows.map((row) => ({
    id: row['webhook_id'] ?? '',
    data: hostOf(String(row['url'])),
    created_at: row['created_at'] ?? 0,
    kind: 'webhook',
    last: 0,
  }))
  await insertRows(tx, queues, actorId, jobs, [
    ['kind', 'TEXT'],
    ['last', 'BIGINT'],
  ])
  await tx.run(
    'UPDATE actor SET webhook_count = (SELECT COUNT(*) FROM webhook WHERE actor_id = $1) WHERE id = $1',
    actorId,
  )
}

/** Events for the application, and messages of webhooks. Their queues stand still until the actor is here. */
async function insertWaiting(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, given, now }: RestoredRows,
): Promise<void> {
  for (const members of given) requireWaiting(kind.kind, members)
  if (rows.some((row) => row['kind'] === 'event'))
    await tx.run(
      `INSERT INTO job (actor_id, kind, id, last, created_at) VALUES ($1, 'event', '', 0, $2)
       ON CONFLICT (actor_id, kind, id) DO NOTHING`,
      actorId,
      now,
    )
  const queues = Map.groupBy(rows, (row) => JSON.stringify([row['kind'], row['job_id']]))
  const lengthened = await tx.run(
    `UPDATE job SET last = r.last FROM rows($2, of_kind TEXT, job TEXT, last BIGINT) AS r
     WHERE actor_id = $1 AND kind = r.of_kind AND id = r.job AND job.last < r.last`,
    actorId,
    JSON.stringify(
      [...queues].map(([key, own]) => [
        ...(JSON.parse(key) as string[]),
        Math.max(...own.map((row) => Number(row['number']))),
      ]),
    ),
  )
  if (lengthened !== queues.size) throw unfit(kind.kind, 'webhook_id', 'the archive has no such webhook')
  await insertRows(tx, kind, actorId, rows)
}

/** @throws ServiceError `invalid_value` */
function requireWaiting(kind: string, members: ArchiveMembers): void {
  const queue = recordText(members, kind, 'queue')
  const isOfWebhook = recordText(members, kind, 'webhook_id') !== ''
  if (queue !== (isOfWebhook ? 'webhook' : 'event')) throw unfit(kind, 'queue', 'it is not that of events or a webhook')
  recordInteger(members, kind, 'number', 1)
  recordInteger(members, kind, 'hops', 0)
  if (!isObject(members.get('data') ?? known('null'))) throw unfit(kind, 'data', 'it is not an object')
  const origin = members.get('origin')
  if (origin !== undefined && !isNull(origin) && !isObject(origin)) throw unfit(kind, 'origin', 'it is not an object')
}
