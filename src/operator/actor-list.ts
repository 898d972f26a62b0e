/** The SQL that lists actors for operators: newest first, or by the beginning of the creator. */
import { lowerAscii } from '../actor/address.ts'
import type { ActorPlace, ListedActor } from '../actor/actor-store.ts'
import { byKey } from '../store/by-key.ts'
import type { Queries, Store } from '../store/store.ts'
import type { Table } from '../table/table.ts'

/** Rows of one actor that are counted. With more, the counts are lower limits. */
export const maxCounted = 1000

/** Counts of one actor. Each stops after `maxCounted` rows. */
export interface ListedFacts {
  readonly id: string
  readonly values: number
  readonly items: number
  /** Bytes of the counted values and items. */
  readonly bytes: number
  /** Bytes in objects, such as those of files. */
  readonly fileBytes: number
  readonly relationships: number
  /** Last use of the passphrase, a session or a counted relationship, in Unix milliseconds. Null: never. */
  readonly lastUsedAt: number | null
}

/** Reads up to `most` actors that are older than the place, newest first. It asks every server. */
export async function findActorsBefore(
  store: Pick<Store, 'readAllServers'>,
  before: ActorPlace,
  most: number,
): Promise<ListedActor[]> {
  const found = await store.readAllServers<ListedActor>(
    `SELECT id, creator, created_at AS "createdAt" FROM actor
     WHERE (created_at, id) < (CAST($1 AS BIGINT), $2) ORDER BY created_at DESC, id DESC LIMIT $3`,
    before.createdAt,
    before.id,
    most,
  )
  // A server that is asked alone returns its own newest actors.
  return found.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)).slice(0, most)
}

/**
 * Reads up to `most` actors whose creator begins with the text, also in lower case as addresses are stored, by creator. It
 * asks every server.
 */
export async function findActorsByCreator(
  store: Pick<Store, 'readAllServers'>,
  beginning: string,
  most: number,
): Promise<ListedActor[]> {
  const lower = lowerAscii(beginning)
  const last = '\u{10FFFF}'
  const found = await store.readAllServers<ListedActor>(
    `SELECT actor_id AS id, name AS creator, created_at AS "createdAt" FROM creator
     WHERE ((name >= $1 AND name < $2) OR (name >= $3 AND name < $4)) AND actor_id <> ''
     ORDER BY name, actor_id LIMIT $5`,
    beginning,
    `${beginning}${last}`,
    lower,
    `${lower}${last}`,
    most,
  )
  return found.toSorted((a, b) => (a.creator < b.creator ? -1 : 1)).slice(0, most)
}

/** The counts of the actors, in one statement. A sharded database asks only the servers of these actors. */
export async function findListedFacts(
  q: Queries,
  tables: readonly Table[],
  ids: readonly string[],
): Promise<ReadonlyMap<string, ListedFacts>> {
  const objects = tables.flatMap(({ name, storedBytes }) =>
    storedBytes === undefined ? [] : [`COALESCE((SELECT u.${storedBytes} FROM ${name} u WHERE u.actor_id = r.id), 0)`],
  )
  const some = (columns: string, table: string): string =>
    `(SELECT ${columns} FROM ${table} AS t WHERE t.actor_id = r.id LIMIT ${maxCounted}) AS part`
  const sizes = (table: string): string =>
    `SELECT COALESCE(sum(size), 0) FROM ${some('octet_length(t.value) AS size', table)}`
  const last = (column: string, table: string): string => `SELECT max(at) FROM ${some(`t.${column} AS at`, table)}`
  const rows = await byKey(q, ids, (named, params) =>
    q.all<ListedFacts & Readonly<Record<'basicAt' | 'sessionAt' | 'relationshipAt', number | null>>>(
      `SELECT r.id, (SELECT count(*) FROM ${some('1', 'property')}) AS "values",
         (SELECT count(*) FROM ${some('1', 'list_item')}) AS items,
         CAST((${sizes('property')}) + (${sizes('list_item')}) AS BIGINT) AS bytes,
         ${objects.join(' + ') || '0'} AS "fileBytes",
         (SELECT count(*) FROM ${some('1', 'trust')}) AS relationships,
         r.basic_used_at AS "basicAt", (${last('last_used_at', 'token_chain')}) AS "sessionAt", (${last('last_accessed', 'trust')}) AS "relationshipAt"
       FROM actor AS r WHERE ${named('r.id')}`,
      ...params,
    ),
  )
  return new Map(
    rows.map(({ basicAt, sessionAt, relationshipAt, ...facts }) => {
      const latest = Math.max(basicAt ?? 0, sessionAt ?? 0, relationshipAt ?? 0)
      return [facts.id, { ...facts, lastUsedAt: latest === 0 ? null : latest }]
    }),
  )
}
