/** The SQL of the audit log. */
import { byActor, naming } from '../store/by-key.ts'
import type { Queries, Transaction } from '../store/store.ts'
import { type AuditLogEntry, dayMs, type Place } from './entry.ts'
import type { ActivityFilter } from './filter.ts'

/**
 * Writes all entries with one statement. It skips actors that another transaction has locked, so that neither waits for
 * the other, and actors that no longer exist.
 *
 * @returns the ids of the written entries.
 */
export async function putEntries(tx: Transaction, entries: readonly AuditLogEntry[]): Promise<ReadonlySet<string>> {
  const written = await byActor(
    tx,
    entries,
    ({ actorId }) => actorId,
    (own, only) => putRows(tx, own, only),
  )
  return new Set(written.map(({ id }) => id))
}

function putRows(tx: Transaction, entries: readonly AuditLogEntry[], only: string | null): Promise<{ id: string }[]> {
  const named = naming(only, 'actor.id', 2)
  const rows = entries.map((e) => [
    e.actorId,
    e.at,
    e.id,
    e.callerKind,
    e.caller,
    e.through,
    e.method,
    e.path,
    e.decision,
    e.reason,
    e.status,
    e.requestId,
    e.times,
    e.device,
    e.callerName,
  ])
  return tx.all<{ id: string }>(
    `/* audit log */ INSERT INTO activity
       (actor_id, at, id, caller_kind, caller, through, method, path, decision, reason, status, request_id, times,
        device, caller_name)
     SELECT actor.id, r.at, r.entry, r.caller_kind, r.caller, r.through, r.method, r.path, r.decision, r.reason, r.status,
       r.request_id, r.times, r.device, r.caller_name
     FROM rows($1, owner TEXT, at BIGINT, entry TEXT, caller_kind TEXT, caller TEXT, through TEXT, method TEXT, path TEXT,
       decision TEXT, reason TEXT, status BIGINT, request_id TEXT, times BIGINT, device TEXT, caller_name TEXT)
       AS r
     JOIN actor ON actor.id = r.owner WHERE true${named.sql} FOR KEY SHARE OF actor SKIP LOCKED
     ON CONFLICT (actor_id, at, id) DO UPDATE SET times = excluded.times
     RETURNING id`,
    JSON.stringify(rows),
    ...named.params,
  )
}

/**
 * Deletes entries of each actor. Keeps `maxUnprivileged` entries of anonymous callers and refusals, `most` of the acts and
 * decisions of owner and operators, and `most` of all others. The callers with most entries lose theirs first, and each
 * caller loses its reads before its changes, so that no caller displaces what others did or what it changed.
 */
export async function trimEntries(
  tx: Transaction,
  actorIds: readonly string[],
  most: number,
  maxUnprivileged: number,
): Promise<void> {
  await byActor(
    tx,
    actorIds,
    (actorId) => actorId,
    async (own, only) => {
      const named = [naming(only, 'activity.actor_id', 4), naming(only, 'a.actor_id', 4)]
      await tx.run(
        `/* audit log */ DELETE FROM activity WHERE (actor_id, at, id) IN (
       SELECT ranked.actor_id, ranked.at, ranked.id FROM (
         SELECT of_caller.actor_id, of_caller.at, of_caller.id, of_caller.class,
           ROW_NUMBER() OVER (PARTITION BY of_caller.actor_id, of_caller.class
             ORDER BY of_caller.nth, of_caller.at DESC, of_caller.id DESC) AS place
         FROM (
           SELECT a.actor_id, a.at, a.id, ${classOfEntry} AS class,
             ROW_NUMBER() OVER (PARTITION BY a.actor_id, ${classOfEntry}, a.caller_kind, a.caller
               ORDER BY ${isReadEntry}, a.at DESC, a.id DESC) AS nth
           FROM activity AS a WHERE a.actor_id IN (SELECT r.owner FROM rows($1, owner TEXT) AS r)${named[1]?.sql}
         ) AS of_caller) AS ranked
       WHERE ranked.place > CASE WHEN ranked.class = 1 THEN CAST($3 AS BIGINT) ELSE CAST($2 AS BIGINT) END)${named[0]?.sql}`,
        JSON.stringify(own.map((id) => [id])),
        most,
        maxUnprivileged,
        ...(named[0]?.params ?? []),
      )
      return []
    },
  )
}

/**
 * Entries of one class displace only each other. 2: acts and decisions of owner and operators. 1: refusals, and accesses of
 * anonymous callers, of which anyone can cause any number.
 */
const classOfEntry = `CASE WHEN a.caller_kind IN ('owner', 'operator') OR a.decision IN ('approved', 'denied') THEN 2
  WHEN a.decision = 'refused' OR a.caller_kind = 'anonymous' THEN 1 ELSE 0 END`

/** Whether the access changed nothing. The values that the service sends to a subscriber change nothing either. */
const isReadEntry = `CASE WHEN a.method IN ('GET', 'HEAD') OR a.through = 'push'
  OR (a.through = 'mcp' AND a.method <> 'tools/call') THEN 1 ELSE 0 END`

export async function deleteEntriesBefore(tx: Transaction, at: number): Promise<void> {
  await tx.run('/* audit log */ DELETE FROM activity WHERE at < $1', at)
}

export interface AuditLogQuery {
  readonly limit: number
  /** Returns only entries before this place. */
  readonly before: Place | null
  readonly filter: ActivityFilter
}

/** The outcome of an entry (`ActivityOutcome`). */
const outcomeOfEntry = `CASE WHEN decision IN ('refused', 'denied') THEN 'denied' WHEN decision = 'asked' THEN 'asked'
  ELSE 'allowed' END`

/** Whether the path of an entry is at or below the resource. `LIKE` would ignore the case of letters on SQLite. */
const below = (name: string): string => `(path = '/${name}' OR substr(path, 1, ${name.length + 2}) = '/${name}/')`

/** The subject of an entry (`ActivityKind`). */
const kindOfEntry = `CASE WHEN through = 'mcp' THEN 'operations'
  WHEN ${below('properties')} THEN 'properties' WHEN ${below('files')} THEN 'files'
  WHEN ${below('actions')} OR ${below('methods')} OR ${below('resources')} THEN 'operations'
  WHEN ${below('trust')} OR ${below('permissions')} THEN 'connections'
  WHEN ${below('subscriptions')} OR ${below('callbacks')} THEN 'updates' ELSE 'other' END`

const columns = `actor_id AS "actorId", at, id, caller_kind AS "callerKind", caller, through, method, path, decision, reason,
  status, request_id AS "requestId", times, device, caller_name AS "callerName"`

/** A read by a peer. */
export interface ReadByPeer {
  readonly actorId: string
  readonly peerId: string
  /** The path, such as `/properties`. A read below it counts too. */
  readonly path: string
  /** Unix milliseconds. */
  readonly since: number
}

/** Whether a peer has read the path, or what is below it. */
export async function hasRead(q: Queries, { actorId, peerId, path, since }: ReadByPeer): Promise<boolean> {
  const row = await q.get<{ found: number }>(
    `/* audit log */ SELECT 1 AS found FROM activity
     WHERE actor_id = $1 AND at >= $2 AND caller_kind = 'peer' AND caller = $3 AND through = 'http' AND method = 'GET'
       AND decision = 'allowed' AND status < 500 AND (path = $4 OR substr(path, 1, $5) = $4 || '/') LIMIT 1`,
    actorId,
    since,
    peerId,
    path,
    path.length + 1,
  )
  return row !== undefined
}

/** Returns the entries, newest first. */
export async function findEntries(
  q: Queries,
  actorId: string,
  { limit, before, filter }: AuditLogQuery,
): Promise<AuditLogEntry[]> {
  const { caller = null, outcome = null, kind = null, property = null, from = null, until = null } = filter
  const path = property === null ? null : `/properties/${encodeURIComponent(property)}`
  return q.all(
    `SELECT ${columns} FROM activity WHERE actor_id = $1
       AND (CAST($2 AS BIGINT) IS NULL OR at < $2 OR (at = $2 AND id < $3))
       AND (CAST($4 AS TEXT) IS NULL OR caller = $4)
       AND (CAST($5 AS TEXT) IS NULL OR ${outcomeOfEntry} = $5)
       AND (CAST($6 AS TEXT) IS NULL OR ${kindOfEntry} = $6)
       AND (CAST($7 AS TEXT) IS NULL OR path = $7 OR substr(path, 1, length($7) + 1) = $7 || '/')
       AND (CAST($8 AS BIGINT) IS NULL OR at >= $8) AND (CAST($9 AS BIGINT) IS NULL OR at < $9)
     ORDER BY at DESC, id DESC LIMIT $10`,
    actorId,
    before?.at ?? null,
    before?.id ?? null,
    caller,
    outcome,
    kind,
    path,
    from,
    until,
    limit,
  )
}

/** Returns the owner's decisions, newest first. The index of decisions finds them. */
export async function findDecisions(
  q: Queries,
  actorId: string,
  { limit, before }: Omit<AuditLogQuery, 'filter'>,
): Promise<AuditLogEntry[]> {
  return q.all(
    `SELECT ${columns} FROM activity WHERE actor_id = $1 AND decision IN ('approved', 'denied')
       AND (CAST($2 AS BIGINT) IS NULL OR at < $2 OR (at = $2 AND id < $3))
     ORDER BY at DESC, id DESC LIMIT $4`,
    actorId,
    before?.at ?? null,
    before?.id ?? null,
    limit,
  )
}

/** The requests of one day, with repeated requests counted singly. */
interface DayCount {
  /** Number of days after the first one. */
  readonly day: number
  readonly requests: number
  readonly denied: number
}

/** Counts the requests of each program since a time. Decisions of the owner are no requests. The primary key finds the entries. */
export async function countByProgram(
  q: Queries,
  actorId: string,
  since: number,
): Promise<readonly { readonly caller: string; readonly requests: number }[]> {
  return q.all(
    `SELECT caller, CAST(SUM(times) AS BIGINT) AS requests FROM activity
     WHERE actor_id = $1 AND at >= $2 AND caller_kind = 'client' AND decision NOT IN ('approved', 'denied')
     GROUP BY caller`,
    actorId,
    since,
  )
}

/**
 * Counts the requests of each day since `start`, without days that have none. Decisions of the owner are no requests. The
 * primary key finds the entries.
 */
export async function countByDay(q: Queries, actorId: string, start: number): Promise<DayCount[]> {
  return q.all<DayCount>(
    `SELECT counted.day, CAST(SUM(counted.times) AS BIGINT) AS requests, CAST(SUM(counted.denied) AS BIGINT) AS denied
     FROM (SELECT (at - $2) / ${dayMs} AS day, times, CASE WHEN decision = 'refused' THEN times ELSE 0 END AS denied
       FROM activity WHERE actor_id = $1 AND at >= $2 AND decision NOT IN ('approved', 'denied')
         AND caller_kind <> 'owner') AS counted
     GROUP BY counted.day`,
    actorId,
    start,
  )
}
