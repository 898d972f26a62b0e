/** The SQL of the history. The actor is locked, so the numbers of its entries ascend in the order of its changes. */
import { deleteInParts } from '../store/delete-in-parts.ts'
import type { Param, Queries, Transaction } from '../store/store.ts'

/** Who made a change, as columns of its entry. */
export interface EntryOrigin {
  /** `Origin.by` */
  readonly callerKind: string
  /** The id of the peer or client. Empty for any other caller. */
  readonly caller: string
  readonly request: string
  /** `Transaction.origin` */
  readonly origin: string
}

/** A value that a change sets, or removes with null. */
export interface WrittenValue extends EntryOrigin {
  readonly name: string
  readonly value: string | null
}

const columns = `actor_id, seq, at, name, kind, operation, existed, content, characters, version, checksum, caller_kind, caller,
  request, origin`
const columnNames = columns.split(',').map((name) => name.trim())

/**
 * Inserts the entries that a SELECT returns, in the order of the columns and with their names. A sharded database plans an INSERT with a SELECT for
 * each of its shards, so the entries are read first there.
 *
 * @returns their number
 */
async function insertSelected(tx: Transaction, select: string, actorId: string, ...params: Param[]): Promise<number> {
  if (!tx.isSharded) return tx.run(`INSERT INTO history (${columns}) ${select}`, actorId, ...params)
  const rows = await tx.all<Readonly<Record<string, Param>>>(select, actorId, ...params)
  const entries = rows.map((row) => columnNames.slice(1).map((name) => row[name] ?? null))
  const [only, ...more] = entries
  if (only === undefined) return 0
  if (more.length === 0)
    await tx.run(
      `INSERT INTO history (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
      actorId,
      ...only,
    )
  else
    await tx.run(
      `INSERT INTO history (${columns})
       SELECT $1, r.seq, r.made_at, r.property, r.of_kind, r.operation, r.existed, r.content, r.characters, r.version, r.checksum,
         r.caller_kind, r.caller, r.request, r.origin
       FROM rows($2, seq BIGINT, made_at BIGINT, property TEXT, of_kind TEXT, operation TEXT, existed BIGINT, content TEXT,
         characters BIGINT, version BIGINT, checksum BIGINT, caller_kind TEXT, caller TEXT, request TEXT, origin TEXT) AS r`,
      actorId,
      JSON.stringify(entries),
    )
  return entries.length
}

const next = `COALESCE((SELECT max(h.seq) FROM history AS h WHERE h.actor_id = $1), 0)`

const valueBefore = `CASE WHEN p.name IS NULL THEN 0 ELSE 1 END AS existed,
  CASE WHEN length(p.value) <= $5 THEN p.value END AS content, COALESCE(length(p.value), 0) AS characters,
  COALESCE(p.version, 1) AS version, p.checksum AS checksum`

/**
 * Keeps the value that a change replaces next. Keeps nothing when the value stays the same, or a list has the name.
 *
 * @param longest The most characters of a value that is kept.
 * @returns the number of entries
 */
export async function keepValue(
  tx: Transaction,
  actorId: string,
  { name, value, callerKind, caller, request, origin }: WrittenValue,
  at: number,
  longest: number,
): Promise<number> {
  return insertSelected(
    tx,
    `SELECT actor.id AS actor_id, ${next} + 1 AS seq, CAST($3 AS BIGINT) AS at, CAST($2 AS TEXT) AS name, 'value' AS kind,
       CAST($4 AS TEXT) AS operation, ${valueBefore}, CAST($6 AS TEXT) AS caller_kind, CAST($7 AS TEXT) AS caller,
       CAST($8 AS TEXT) AS request, CAST($9 AS TEXT) AS origin
     FROM actor LEFT JOIN property AS p ON p.actor_id = actor.id AND p.name = $2
     WHERE actor.id = $1 AND COALESCE(p.kind, 'value') = 'value'
       AND ((p.name IS NULL AND $4 = 'set') OR p.value <> $10)`,
    actorId,
    name,
    at,
    value === null ? 'delete' : 'set',
    longest,
    callerKind,
    caller,
    request,
    origin,
    value ?? '',
  )
}

/** Like `keepValue`, for several values of different names. */
export async function keepValues(
  tx: Transaction,
  actorId: string,
  values: readonly WrittenValue[],
  at: number,
  longest: number,
): Promise<number> {
  const before = valueBefore.replaceAll('$5', '$4')
  return keepMany(tx, actorId, values, { before, params: [at, longest] })
}

/** The checksum of an entry whose content was deleted because its caller has many. A CRC-32 is below it. */
export const emptied = 4_294_967_296

/** The names that have entries. Reads a page of entries at a time. */
export async function findEntryNames(q: Queries, actorId: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for (let after: number | null = -1; after !== null; ) {
    const page: Pick<EntryRow, 'seq' | 'name'>[] = await q.all(
      `/* history */ SELECT seq, name FROM history WHERE actor_id = $1 AND seq > $2 ORDER BY seq LIMIT ${namesOfPage}`,
      actorId,
      after,
    )
    for (const { name } of page) names.add(name)
    after = page.length < namesOfPage ? null : (page.at(-1)?.seq ?? null)
  }
  return names
}

const namesOfPage = 500

/**
 * Like `keepValues`, without what the changes replace, for names that have other entries: an undo of these must notice the
 * changes.
 *
 * @param names Those with other entries.
 */
export async function markValues(
  tx: Transaction,
  actorId: string,
  values: readonly WrittenValue[],
  at: number,
  names: ReadonlySet<string>,
): Promise<number> {
  const marked = values.filter(({ name }) => names.has(name))
  if (marked.length === 0) return 0
  const before = `1 AS existed, CAST(NULL AS TEXT) AS content, COALESCE(length(p.value), 0) AS characters,
    COALESCE(p.version, 1) AS version, CAST(${emptied} AS BIGINT) AS checksum`
  return keepMany(tx, actorId, marked, { before, params: [at] })
}

interface KeptPart {
  /** SQL: what was before. */
  readonly before: string
  /** From `$3` on. */
  readonly params: readonly Param[]
}

async function keepMany(
  tx: Transaction,
  actorId: string,
  values: readonly WrittenValue[],
  { before, params }: KeptPart,
): Promise<number> {
  const rows = values.map((given, n) => [
    n + 1,
    given.name,
    given.value === null ? 'delete' : 'set',
    given.value ?? '',
    given.callerKind,
    given.caller,
    given.request,
    given.origin,
  ])
  return insertSelected(
    tx,
    `SELECT actor.id AS actor_id, ${next} + w.n AS seq, CAST($3 AS BIGINT) AS at, w.name AS name, 'value' AS kind,
       w.operation AS operation, ${before}, w.caller_kind AS caller_kind, w.caller AS caller,
       w.request AS request, w.origin AS origin
     FROM actor JOIN rows($2, n BIGINT, name TEXT, operation TEXT, value TEXT, caller_kind TEXT, caller TEXT, request TEXT,
       origin TEXT) AS w ON true
     LEFT JOIN property AS p ON p.actor_id = actor.id AND p.name = w.name
     WHERE actor.id = $1 AND COALESCE(p.kind, 'value') = 'value'
       AND ((p.name IS NULL AND w.operation = 'set') OR p.value <> w.value)`,
    actorId,
    JSON.stringify(rows),
    ...params,
  )
}

/** A change of a list. */
export interface WrittenSteps extends EntryOrigin {
  readonly name: string
  readonly operation: string
  /** `stepsText`. Null when it is too long to keep. */
  readonly content: string | null
  readonly characters: number
  readonly version: number
}

export async function keepSteps(
  tx: Transaction,
  actorId: string,
  changes: readonly WrittenSteps[],
  at: number,
): Promise<void> {
  const rows = changes.map((change, n) => [
    n + 1,
    change.name,
    change.operation,
    change.content,
    change.characters,
    change.version,
    change.callerKind,
    change.caller,
    change.request,
    change.origin,
  ])
  await insertSelected(
    tx,
    `SELECT actor.id AS actor_id, ${next} + w.n AS seq, CAST($3 AS BIGINT) AS at, w.name AS name, 'list' AS kind,
       w.operation AS operation, 1 AS existed, w.content AS content, w.characters AS characters, w.version AS version,
       CAST(NULL AS BIGINT) AS checksum, w.caller_kind AS caller_kind, w.caller AS caller, w.request AS request,
       w.origin AS origin
     FROM actor JOIN rows($2, n BIGINT, name TEXT, operation TEXT, content TEXT, characters BIGINT, version BIGINT,
       caller_kind TEXT, caller TEXT, request TEXT, origin TEXT) AS w ON true
     WHERE actor.id = $1`,
    actorId,
    JSON.stringify(rows),
    at,
  )
}

/** An entry as its row has it. */
export interface EntryRow {
  readonly seq: number
  /** Unix milliseconds. */
  readonly at: number
  readonly name: string
  readonly kind: 'value' | 'list'
  readonly operation: string
  /** Whether the property existed before the change. */
  readonly existed: number
  /** The value before, or the steps of a list. Null when there was none, or it was too long to keep. */
  readonly content: string | null
  /** The characters of the value or of the steps, also when they were not kept. */
  readonly characters: number
  readonly version: number
  readonly checksum: number | null
  readonly callerKind: string
  readonly caller: string
  readonly request: string
  readonly origin: string
}

const selected = `h.seq, h.at, h.name, h.kind, h.operation, h.existed, h.content, h.characters, h.version, h.checksum,
  h.caller_kind AS "callerKind", h.caller, h.request, h.origin`

/** Which entries to read. Null and absent: any. */
export interface EntryFilter {
  readonly name?: string | null | undefined
  /** The id of a peer or client. */
  readonly caller?: string | null | undefined
  /** `Origin.by`. An id may be the name of a kind, so the two are separate. */
  readonly callerKind?: string | null | undefined
  readonly request?: string | null | undefined
  /** Changes since this time, in Unix milliseconds. */
  readonly since?: number | null | undefined
  readonly seq?: number | null | undefined
}

export interface EntryQuery extends EntryFilter {
  /** Returns only entries with a lower number. */
  readonly before: number | null
  readonly limit: number
  /** The most bytes of the contents together. */
  readonly maxBytes: number
  /** This many entries are returned in any case. */
  readonly least: number
}

/** A found entry, with the number of entries that would have been found, at most one more than the limit. */
interface FoundRow extends EntryRow {
  readonly found: number
}

/** The entries, newest first. They are chosen by their sizes, so that the contents of others are not read. */
export function findHistory(
  q: Queries,
  actorId: string,
  {
    name = null,
    caller = null,
    callerKind = null,
    request = null,
    since = null,
    seq = null,
    before,
    limit,
    maxBytes,
    least,
  }: EntryQuery,
): Promise<FoundRow[]> {
  return q.all(
    `SELECT ${selected}, chosen.found FROM (
       SELECT seq, COUNT(*) OVER () AS found, ROW_NUMBER() OVER (ORDER BY seq DESC) AS place,
         SUM(bytes) OVER (ORDER BY seq DESC) AS bytes_until
       FROM (
         SELECT seq, COALESCE(octet_length(content), 0) AS bytes FROM history
         WHERE actor_id = $1 AND (CAST($2 AS BIGINT) IS NULL OR seq < $2)
           AND (CAST($3 AS TEXT) IS NULL OR name = $3)
           AND (CAST($4 AS TEXT) IS NULL OR caller = $4)
           AND (CAST($5 AS TEXT) IS NULL OR request = $5) AND (CAST($6 AS BIGINT) IS NULL OR at >= $6)
           AND (CAST($7 AS BIGINT) IS NULL OR seq = $7)
           AND (CAST($8 AS TEXT) IS NULL OR caller_kind = $8)
         ORDER BY seq DESC LIMIT $9 + 1) AS sized
     ) AS chosen CROSS JOIN history h
     WHERE h.actor_id = $1 AND h.seq = chosen.seq AND chosen.place <= $9
       AND (chosen.place <= $10 OR chosen.bytes_until <= $11)
     ORDER BY h.seq DESC`,
    actorId,
    before,
    name,
    caller,
    request,
    since,
    seq,
    callerKind,
    limit,
    least,
    maxBytes,
  )
}

/** All entries of these names from a number on, oldest first, without their content. */
export function findLater(
  q: Queries,
  actorId: string,
  names: readonly string[],
  from: number,
): Promise<Pick<EntryRow, 'seq' | 'name'>[]> {
  return q.all(
    `SELECT seq, name FROM history WHERE actor_id = $1 AND seq >= $2
       AND name IN (SELECT name FROM rows($3, name TEXT) AS wanted) ORDER BY seq`,
    actorId,
    from,
    JSON.stringify(names.map((name) => [name])),
  )
}

/** Deletes entries that are older than a time: at most `most` on a plain database. Returns their number. */
export function deleteBefore(tx: Transaction, at: number, most: number): Promise<number> {
  if (tx.isSharded) return tx.run('/* history */ DELETE FROM history WHERE at < $1', at)
  return tx.run(
    `/* history */ DELETE FROM history WHERE (actor_id, seq) IN (
       SELECT actor_id, seq FROM history WHERE at < $1 ORDER BY at LIMIT $2)`,
    at,
    most,
  )
}

/** Deletes all entries of an actor, or those of one name. */
export async function deleteHistory(tx: Transaction, actorId: string, name: string | null): Promise<void> {
  const rows = { table: 'history', key: 'seq', size: 'COALESCE(octet_length(content), 0)' }
  await (name === null
    ? deleteInParts(tx, rows, actorId)
    : deleteInParts(tx, { ...rows, where: 'name = $2' }, actorId, name))
}
