/**
 * Readers of an arrived actor can read or receive what its owner stores later: relationships, companions and open invitations, the
 * readers of features, and its trustee, on whose behalf applications act. The old service states them and proves none, so the
 * owner keeps them by choice (record 111).
 */
import { createHash } from 'node:crypto'
import { setTrusteeRoot } from '../actor/actor-store.ts'
import type { LockedActor, Queries, Transaction } from '../store/store.ts'
import type { Table, TableReader, WithTables } from '../table/table.ts'
import { deleteCompanion } from '../trust/companion-store.ts'

export interface ArrivedReader {
  readonly kind: string
  readonly id: string
  /** The name that the archive states. Empty: none. */
  readonly name: string
  /** Where it receives data. Empty for an invitation, which anyone with its link may use. */
  readonly address: string
  /** The trust type of a relationship or an invitation. Empty otherwise. */
  readonly relationship: string
  /** Whether a relationship has rights besides those of its trust type. */
  readonly hasOwnRights: boolean
  /** Names the reader with all that is shown of it. A reader that changes gets another key. */
  readonly key: string
}

type Row = Omit<ArrivedReader, 'kind' | 'hasOwnRights' | 'key'> & { readonly rules: number }

/** Relationships end together, and a trustee with the row of the arrival. */
const endsApart: TableReader['end'] = async () => {}

const relationships: TableReader = {
  kind: 'relationship',
  sql: `SELECT peer_id AS id, CASE nickname WHEN '' THEN description ELSE nickname END AS name, baseuri AS address,
      relationship, CASE WHEN EXISTS (SELECT 1 FROM permission_override o WHERE o.actor_id = $1 AND o.peer_id = trust.peer_id)
        THEN 1 ELSE 0 END AS rules
    FROM trust WHERE actor_id = $1 ORDER BY peer_id LIMIT $2`,
  end: endsApart,
}
const companions: TableReader = {
  kind: 'companion',
  sql: `SELECT kind AS id, kind AS name, baseuri AS address, '' AS relationship, 0 AS rules
    FROM companion WHERE actor_id = $1 ORDER BY kind LIMIT $2`,
  end: deleteCompanion,
}
const trustee: TableReader = {
  kind: 'trustee',
  sql: `SELECT trustee_root AS id, '' AS name, trustee_root AS address, '' AS relationship, 0 AS rules
    FROM arrival WHERE actor_id = $1 AND state = 'here' AND trustee_root IS NOT NULL LIMIT $2`,
  end: endsApart,
}

/** The kinds of readers: those of the core and of these tables of features. */
export function readersWith(tables: readonly Table[]): readonly TableReader[] {
  const ofFeatures = tables.flatMap(({ reader }) => (reader === undefined ? [] : [reader]))
  const [links, others] = [
    ofFeatures.filter(({ isLink }) => isLink),
    ofFeatures.filter(({ isLink }) => isLink !== true),
  ]
  return [relationships, ...others, companions, ...links, trustee]
}

/** More readers of a kind are not shown, so they cannot be kept. */
export const maxShownReaders = 5000
/** No actor has more. */
const all = Number.MAX_SAFE_INTEGER

export async function findReaders(
  q: Queries,
  tables: readonly Table[],
  actorId: string,
  most = all,
): Promise<ArrivedReader[]> {
  const found: ArrivedReader[] = []
  for (const { kind, sql } of readersWith(tables))
    for (const { rules, ...row } of await q.all<Row>(sql, actorId, most)) {
      const reader = { kind, ...row, hasOwnRights: rules !== 0 }
      found.push({ ...reader, key: digestOf(Object.values(reader)) })
    }
  return found
}

/** Names a list of readers. Another list, or a changed reader, has another name. */
export function readersVersion(readers: readonly ArrivedReader[]): string {
  return digestOf(readers.map(({ key }) => key))
}

function digestOf(values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url')
}

type Locked = Pick<LockedActor, 'id' | 'creator' | 'watchedUntil' | 'kind'>

/** Ends what other rooms have of a locked actor, as its owner does. */
export interface ReaderEnds extends WithTables {
  readonly endRelationships: (tx: Transaction, actor: Locked, peerIds: readonly string[]) => Promise<void>
}

/**
 * Ends or deletes the readers whose keys are not among `kept`. A reader that changed since the owner saw it has another key.
 * A kept trustee becomes that of the actor.
 */
export async function endOtherReaders(
  tx: Transaction,
  actor: Locked,
  kept: ReadonlySet<string>,
  { endRelationships, tables }: ReaderEnds,
): Promise<void> {
  const readers = await findReaders(tx, tables, actor.id)
  const keptTrustee = readers.find(({ kind, key }) => kind === 'trustee' && kept.has(key))
  if (keptTrustee !== undefined) await setTrusteeRoot(tx, actor.id, keptTrustee.id)
  await tx.run('UPDATE arrival SET trustee_root = NULL WHERE actor_id = $1', actor.id)
  const others = readers.filter(({ key }) => !kept.has(key))
  for (const { kind, end } of readersWith(tables))
    for (const other of others) if (other.kind === kind) await end(tx, actor.id, other.id)
  const peerIds = others.flatMap(({ kind, id }) => (kind === relationships.kind ? [id] : []))
  await endRelationships(tx, actor, peerIds)
  await tx.run(
    `DELETE FROM arrival_peer WHERE actor_id = $1 AND peer_id IN (SELECT r.peer FROM rows($2, peer TEXT) AS r)`,
    actor.id,
    JSON.stringify(peerIds.map((peerId) => [peerId])),
  )
}
