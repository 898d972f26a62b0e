/**
 * Corrects the counts that the rows of actors have, such as after a repair by hand. On a sharded database, they are upper
 * bounds, and only a smaller bound is reported.
 */
import type { KeptCount, Queries, Store } from '../store/store.ts'
import { keptColumns, type Quota } from './quota.ts'

/** Actors that are read at a time. */
const maxActors = 500

/** A count that differed from the rows. */
export interface CorrectedCount {
  readonly actorId: string
  readonly quota: Quota
  readonly counted: number
  readonly used: number
}

/** Counts the rows of every actor, while the service runs. */
export async function recount(
  store: Store,
  quotas: readonly Quota[],
  corrected: (count: CorrectedCount) => void,
): Promise<void> {
  const kept = quotas.flatMap((quota) => (quota.kept === undefined ? [] : [{ quota, column: keptColumns[quota.kept] }]))
  for (let after: string | undefined = ''; after !== undefined; ) {
    const last: string = after
    const actors = await store.read((q) =>
      q.all<{ id: string }>('SELECT id FROM actor WHERE id > $1 ORDER BY id LIMIT $2', last, maxActors),
    )
    for (const { id } of actors) {
      // A change between two statements looks like a difference, so the lock decides.
      if ((await store.read((q) => differences(q, id, kept, ''))).length === 0) continue
      const found = await store.write(async (tx) => {
        const wrong = await differences(tx, id, kept, 'FOR UPDATE')
        for (const { column, used } of wrong) await tx.run(`UPDATE actor SET ${column} = $2 WHERE id = $1`, id, used)
        return wrong
      })
      for (const one of found.filter(({ counted, used }) => !store.isSharded || used > counted))
        corrected({ actorId: id, quota: one.quota, counted: one.counted, used: one.used })
    }
    after = actors.length < maxActors ? undefined : actors.at(-1)?.id
  }
}

interface Difference {
  readonly quota: Quota
  readonly column: string
  readonly counted: number
  readonly used: number
}

async function differences(
  q: Queries,
  actorId: string,
  kept: readonly Pick<Difference, 'quota' | 'column'>[],
  lock: string,
): Promise<Difference[]> {
  const columns = Object.entries(keptColumns).map(([member, column]) => `${column} AS "${member}"`)
  const row = await q.get<Record<KeptCount, number>>(
    `SELECT ${columns.join(', ')} FROM actor WHERE id = $1 ${lock}`,
    actorId,
  )
  if (row === undefined) return []
  const found: Difference[] = []
  for (const { quota, column } of kept) {
    const used = (await q.get<{ used: number }>(quota.sql, actorId))?.used ?? 0
    const counted = quota.kept === undefined ? used : row[quota.kept]
    if (used !== counted) found.push({ quota, column, counted, used })
  }
  return found
}
