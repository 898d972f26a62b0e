/** The SQL of metadata about peers. It is stored in the actor's attributes, where test clients look for it. */
import { type JsonText, known, stringText } from '../json/json.ts'
import type { Queries, Transaction } from '../store/store.ts'

export const factBuckets = {
  profile: '_peer_profiles',
  capabilities: '_peer_capabilities',
  permissions: '_peer_permissions',
} as const

export type FactKind = keyof typeof factBuckets

export interface PeerKey {
  readonly actorId: string
  readonly peerId: string
}

/** Contains both ids, so that an actor cannot read the metadata that another actor of the service stores. */
function factName({ actorId, peerId }: PeerKey): string {
  return `${actorId}:${peerId}`
}

export async function findFact(q: Queries, key: PeerKey, kind: FactKind): Promise<JsonText | null> {
  const row = await q.get<{ data: string }>(
    'SELECT data FROM attribute WHERE actor_id = $1 AND bucket = $2 AND name = $3',
    key.actorId,
    factBuckets[kind],
    factName(key),
  )
  return row === undefined ? null : known(row.data)
}

/** The most peers of a page. */
export const factsOfPage = 256
/** Longer metadata is left out of a page, in bytes. A peer decides how long its own is. */
const longestInPage = 4096

/** The metadata of the next peers after a name, by name. Null where it is too long to be read for many peers. */
export async function findFactPage(
  q: Queries,
  actorId: string,
  kind: FactKind,
  after: string,
): Promise<readonly { readonly name: string; readonly peerId: string; readonly fact: JsonText | null }[]> {
  const rows = await q.all<{ name: string; data: string | null }>(
    `SELECT name, CASE WHEN octet_length(data) <= ${longestInPage} THEN data END AS data FROM attribute
     WHERE actor_id = $1 AND bucket = $2 AND name > $3 ORDER BY name LIMIT ${factsOfPage}`,
    actorId,
    factBuckets[kind],
    after,
  )
  const prefix = factName({ actorId, peerId: '' })
  return rows.map(({ name, data }) => ({
    name,
    peerId: name.slice(prefix.length),
    fact: data === null ? null : known(data),
  }))
}

export async function putFact(tx: Transaction, key: PeerKey, kind: FactKind, data: string, now: number): Promise<void> {
  await tx.run(
    `INSERT INTO attribute (actor_id, bucket, name, data, timestamp) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (actor_id, bucket, name) DO UPDATE SET data = excluded.data, timestamp = excluded.timestamp`,
    key.actorId,
    factBuckets[kind],
    factName(key),
    data,
    now,
  )
}

/** Deletes all metadata about a peer and the copy of its data, with one statement. */
export async function forgetPeer(tx: Transaction, actorId: string, peerId: string): Promise<void> {
  await tx.run(
    `DELETE FROM attribute WHERE actor_id = $1
       AND (bucket = $2 OR (name = $3 AND bucket IN ($4, $5, $6)))`,
    actorId,
    `remote:${peerId}`,
    factName({ actorId, peerId }),
    ...Object.values(factBuckets),
  )
}

/** The members with which the stored metadata of a peer begins. */
export function ownersOf({ actorId, peerId }: PeerKey): readonly (readonly [string, JsonText])[] {
  return [
    ['actor_id', stringText(actorId)],
    ['peer_id', stringText(peerId)],
  ]
}
