/**
 * Upper bounds of what an actor stores, in its row. Only a sharded database uses them, because it has no triggers that count.
 * A bound never falls with a deletion: the next count of the rows replaces it.
 */
import type { KeptCount, Queries, Transaction } from '../store/store.ts'
import { keptColumns, type Quota } from './quota.ts'

/** The most that a transaction can have added. */
export interface AtMost {
  readonly most: ReadonlyMap<Quota, number>
  /** Whether stored rows were copied, which can add as much as there is. */
  readonly copies: boolean
}

export type Bounds = Readonly<Record<KeptCount, number>>

const counts = Object.entries(keptColumns) as [KeptCount, string][]
const returned = counts.map(([member, column]) => `${column} AS "${member}"`).join(', ')

/** Adds to the bounds what a transaction can have added. Returns the new ones, all 0 when the actor does not exist. */
export async function raiseBounds(tx: Queries, actorId: string, { most, copies }: AtMost): Promise<Bounds> {
  const more = new Map([...most].map(([{ kept }, added]) => [kept, added]))
  const [bytes = 0, names = 0, items = 0] = counts.map(([member]) => more.get(member) ?? 0)
  const row = await tx.get<Bounds>(
    `UPDATE actor SET used_bytes = used_bytes * $5 + $2, used_names = used_names * $5 + $3, used_items = used_items * $5 + $4
     WHERE id = $1 RETURNING ${returned}`,
    actorId,
    bytes,
    names,
    items,
    copies ? 2 : 1,
  )
  return row ?? { usedBytes: 0, usedNames: 0, usedItems: 0 }
}

/** Replaces bounds by counts of the rows. */
export async function setBounds(tx: Transaction, actorId: string, counted: ReadonlyMap<Quota, number>): Promise<void> {
  const exact = new Map([...counted].map(([{ kept }, used]) => [kept, used]))
  const [bytes = null, names = null, items = null] = counts.map(([member]) => exact.get(member))
  if (bytes === null && names === null && items === null) return
  await tx.run(
    `UPDATE actor SET used_bytes = COALESCE(CAST($2 AS BIGINT), used_bytes),
       used_names = COALESCE(CAST($3 AS BIGINT), used_names), used_items = COALESCE(CAST($4 AS BIGINT), used_items)
     WHERE id = $1`,
    actorId,
    bytes,
    names,
    items,
  )
}

/** More than any limit, so that the next change counts the rows. */
const unknown = 2 ** 51

/** Notes that rows of the actor were added without a bound. A plain database counts them by its triggers. */
export async function forgetBounds(tx: Transaction, actorId: string): Promise<void> {
  if (!tx.isSharded) return
  await tx.run('UPDATE actor SET used_bytes = $2, used_names = $2, used_items = $2 WHERE id = $1', actorId, unknown)
}
