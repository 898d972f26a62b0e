/**
 * The largest and the busiest actors. No index has their order, because it would slow down every change. So the largest are
 * found by pages of actors, and the busiest among the newest records.
 */
import type { ListedActor } from '../actor/actor-store.ts'
import { byKey } from '../store/by-key.ts'
import type { Store } from '../store/store.ts'

export type ActorOrder = 'size' | 'activity'

export interface RankedActor {
  readonly id: string
  /** Bytes of its names, values and items, or the number of its newest records. */
  readonly amount: number
}

type Reads = Pick<Store, 'read' | 'readAllServers'>

/** Actors that one statement reads, so that other work of the process continues in between. */
const pageSize = 5000
/** Records of each kind that count. */
const newestRecords = 5000

/** Returns up to `most` actors, the largest or busiest first. */
export async function findRanked(store: Reads, order: ActorOrder, most: number): Promise<RankedActor[]> {
  return order === 'size' ? largest(store, most) : busiest(store, most)
}

async function largest(store: Reads, most: number): Promise<RankedActor[]> {
  let found: RankedActor[] = []
  for (let after = ''; ; ) {
    const rows = await store.readAllServers<RankedActor>(
      '/* operator */ SELECT id, used_bytes AS amount FROM actor WHERE id > $1 ORDER BY id LIMIT $2',
      after,
      pageSize,
    )
    // A server that is asked alone returns its own first actors.
    const page = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, pageSize)
    found = topOf([...found, ...page.filter(({ amount }) => amount > 0)], most)
    const last = page.at(-1)
    if (last === undefined || page.length < pageSize) return found
    after = last.id
  }
}

/** Counts recorded requests of others, and changes by anyone. Reads by owners are not recorded. */
async function busiest(store: Reads, most: number): Promise<RankedActor[]> {
  const counted = await Promise.all([
    store.readAllServers<RankedActor>(
      `/* operator */ SELECT actor_id AS id, CAST(SUM(times) AS BIGINT) AS amount FROM (
         SELECT actor_id, times FROM activity ORDER BY at DESC LIMIT $1) AS newest GROUP BY actor_id`,
      newestRecords,
    ),
    store.readAllServers<RankedActor>(
      `/* operator */ SELECT actor_id AS id, COUNT(*) AS amount FROM (
         SELECT actor_id FROM history ORDER BY at DESC LIMIT $1) AS newest GROUP BY actor_id`,
      newestRecords,
    ),
  ])
  const sums = new Map<string, number>()
  for (const { id, amount } of counted.flat()) sums.set(id, (sums.get(id) ?? 0) + amount)
  return topOf(
    [...sums].map(([id, amount]) => ({ id, amount })),
    most,
  )
}

function topOf(actors: readonly RankedActor[], most: number): RankedActor[] {
  return actors.toSorted((a, b) => b.amount - a.amount || (a.id < b.id ? -1 : 1)).slice(0, most)
}

/** Returns the actors with their amounts, in the order of the ranking. Those that were deleted meanwhile are missing. */
export async function listRanked(
  store: Reads,
  order: ActorOrder,
  most: number,
): Promise<(ListedActor & { readonly amount: number })[]> {
  const ranked = await findRanked(store, order, most)
  const listed = await store.read((q) =>
    byKey(
      q,
      ranked.map(({ id }) => id),
      (named, params) =>
        q.all<ListedActor>(
          `/* operator */ SELECT a.id, a.creator, a.created_at AS "createdAt", a.kind FROM actor AS a WHERE ${named('a.id')}`,
          ...params,
        ),
    ),
  )
  const byId = new Map(listed.map((actor) => [actor.id, actor]))
  return ranked.flatMap(({ id, amount }) => {
    const actor = byId.get(id)
    return actor === undefined ? [] : [{ ...actor, amount }]
  })
}
