/** The records of an actor that moves here, where they differ from those of other archives: new secrets, and work that waits. */
import { setResidence } from '../actor/actor-store.ts'
import { noticesOfMoves } from '../archive/record-kinds.ts'
import type { RecordKind } from '../table/record-kind.ts'
import { type ArchiveMembers, insertRows, recordInteger, recordText, unfit } from '../archive/record-rows.ts'
import type { ArrivingActor, RestoredRows } from '../archive/restored-rows.ts'
import { deleteArriving } from '../archive/restore-actor.ts'
import { isNull, isObject, known } from '../json/json.ts'
import { deleteHeldNotices, holdNotices, insertNotices, type StoredNotice } from '../outbox/notice-store.ts'
import { hashSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import { seal } from '../secret/sealed.ts'
import { arrivalPeerSecret, bindingOf, noticeSecret, trustToken } from '../secret/sealed-columns.ts'
import type { Transaction } from '../store/store.ts'
import type { Table, WithTables } from '../table/table.ts'
import { findArrivalJob, insertArrivalJob, insertPeers } from './arrival-store.ts'

type ArrivingDeps = WithTables & { readonly keyRing: KeyRing }
type Arriving = RestoredRows & ArrivingDeps

export function arrivingActor(deps: ArrivingDeps & { readonly now: () => number }, actorId: string): ArrivingActor {
  return {
    actorId,
    begin: async (tx, insert) => {
      // The worker that runs this keeps its claim.
      const job = await findArrivalJob(tx, actorId)
      await deleteArriving(tx, actorId, { now: deps.now(), tables: deps.tables })
      await deleteHeldNotices(tx, actorId)
      if (!(await insert())) return false
      await setResidence(tx, actorId, 'arriving')
      if (job !== null) await insertArrivalJob(tx, actorId, job, deps.now())
      return true
    },
    insertKind: async (tx, kind, all) => {
      const insert = inserts.get(kind.kind)
      if (insert === undefined) return false
      await insert(tx, actorId, kind, { ...deps, ...all })
      return true
    },
  }
}

type Insert = (tx: Transaction, actorId: string, kind: RecordKind, all: Arriving) => Promise<void>

const inserts: ReadonlyMap<string, Insert> = new Map(
  Object.entries({
    relationship: insertRelationships,
    delivered: insertProgress,
    doubtful_copy: markDoubt,
    missing_data: markMissing,
    waiting_event: insertWaiting,
    notice: insertHeldNotices,
  }),
)

/**
 * The peer, and the service itself, use the old secret for calls to the peer until the peer has the new one. Calls from the peer
 * need the new one from the beginning, because the old service knows the old one.
 */
async function insertRelationships(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, now, keyRing }: Arriving,
): Promise<void> {
  const renewed = rows.map((row) => {
    const peerId = String(row['peer_id'])
    const token = seal(keyRing, randomPassphrase(), bindingOf(trustToken, actorId, peerId))
    const secret = randomPassphrase()
    const sealed = seal(keyRing, secret, bindingOf(arrivalPeerSecret, actorId, peerId))
    const [baseuri, relationship] = [String(row['baseuri'] ?? ''), String(row['relationship'] ?? '')]
    return { row, token, secret, peer: { peerId, baseuri, relationship, secret: sealed } }
  })
  const peers = renewed.map(({ peer }) => peer)
  await insertRows(
    tx,
    kind,
    actorId,
    renewed.map(({ row, token, secret }) => ({ ...row, verification_token: token, secret_hash: hashSecret(secret) })),
    [['secret_hash', 'TEXT']],
  )
  await insertPeers(tx, actorId, peers, now)
}

/** Stores how far the callbacks of subscriptions were delivered. Later diffs are delivered from here. */
async function insertProgress(tx: Transaction, actorId: string, _kind: RecordKind, { rows }: Arriving): Promise<void> {
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

/** The copies of these peers may lack a change. They get a resync when its time has come. */
async function markDoubt(tx: Transaction, actorId: string, _kind: RecordKind, { rows }: Arriving): Promise<void> {
  await tx.run(
    `UPDATE publisher_subscription SET repair_at = r.repair, repairs = r.repaired, failing_since = r.failing
     FROM rows($2, peer TEXT, subscription TEXT, repair BIGINT, repaired BIGINT, failing BIGINT) AS r
     WHERE actor_id = $1 AND peer_id = r.peer AND subscription_id = r.subscription`,
    actorId,
    JSON.stringify(
      rows.map((row) => [
        row['peer_id'],
        row['subscription_id'],
        row['repair_at'],
        // A negative number would repeat the resync without a pause.
        Math.max(0, Number(row['repairs'])),
        row['failing_since'],
      ]),
    ),
  )
}

/** The data of these subscriptions is fetched as a whole when the actor is here. */
async function markMissing(tx: Transaction, actorId: string, _kind: RecordKind, { rows }: Arriving): Promise<void> {
  await tx.run(
    `UPDATE subscriber_subscription SET resync_pending = 1
     FROM rows($2, peer TEXT, subscription TEXT) AS r
     WHERE actor_id = $1 AND peer_id = r.peer AND subscription_id = r.subscription`,
    actorId,
    JSON.stringify(rows.map((row) => [row['peer_id'], row['subscription_id']])),
  )
}

/** Events for the application, and messages of features. Their queues stand still until the actor is here. */
async function insertWaiting(
  tx: Transaction,
  actorId: string,
  kind: RecordKind,
  { rows, given, now, tables }: Arriving,
): Promise<void> {
  for (const members of given) requireWaiting(kind.kind, members, tables)
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
  if (lengthened !== queues.size) throw unfit(kind.kind, 'queue_id', 'the archive does not have this queue')
  await insertRows(tx, kind, actorId, rows)
}

/** @throws ServiceError `invalid_value` */
function requireWaiting(kind: string, members: ArchiveMembers, tables: readonly Table[]): void {
  const queue = recordText(members, kind, 'queue')
  const isOfEvents = recordText(members, kind, 'queue_id') === ''
  if (!(isOfEvents ? queue === 'event' : tables.some(({ queues }) => queues === queue)))
    throw unfit(kind, 'queue', 'it is not that of events or of a feature')
  recordInteger(members, kind, 'number', 1)
  recordInteger(members, kind, 'hops', 0)
  if (!isObject(members.get('data') ?? known('null'))) throw unfit(kind, 'data', 'it is not an object')
  const origin = members.get('origin')
  if (origin !== undefined && !isNull(origin) && !isObject(origin)) throw unfit(kind, 'origin', 'it is not an object')
}

const noticeMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** Messages to peers, which wait until the actor is here. They are sent with the secret that the relationship then has. */
async function insertHeldNotices(
  tx: Transaction,
  actorId: string,
  { kind }: RecordKind,
  { given, now, keyRing }: Arriving,
): Promise<void> {
  const notices = given.map((members): StoredNotice => {
    const text = (name: string): string => recordText(members, kind, name)
    const [id, url, baseuri, body] = [text('id'), text('url'), text('baseuri'), members.get('body') ?? known('null')]
    const notice = noticesOfMoves.find((known) => known === text('notice'))
    if (notice === undefined) throw unfit(kind, 'notice', 'this kind does not move')
    if (!noticeMethods.has(text('method'))) throw unfit(kind, 'method', 'a message does not use it')
    if (!url.startsWith(`${baseuri}/`)) throw unfit(kind, 'url', 'it is not below the address of the peer')
    return {
      id,
      actorId,
      peerId: text('peer_id'),
      kind: notice,
      method: text('method') as StoredNotice['method'],
      url,
      baseuri,
      secret: seal(keyRing, '', bindingOf(noticeSecret, id)),
      body: isNull(body) ? null : body,
      requestId: text('request_id'),
    }
  })
  await insertNotices(tx, notices, now)
  await holdNotices(tx, actorId)
}
