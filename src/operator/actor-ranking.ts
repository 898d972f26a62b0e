/**
 * The largest and the busiest actors. No index has the order by size, because it would slow down every change (record 237). So the
 * largest of a store with many actors are a stored summary, and the busiest are found among the newest records.
 */
import type { ListedActor } from '../actor/actor-store.ts'
import { Poller } from '../due/poller.ts'
import type { Log } from '../observe/log.ts'
import { byKey } from '../store/by-key.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import type { Timers } from '../timers.ts'

export type ActorOrder = 'size' | 'activity'

export interface RankedActor {
  readonly id: string
  /** Bytes of its names, values and items, or the number of its newest records. */
  readonly amount: number
}

/** The largest or busiest actors, those first. */
export interface Ranking {
  readonly actors: readonly RankedActor[]
  /** When the amounts were counted, in Unix milliseconds. Null: they were never. */
  readonly countedAt: number | null
}

/** The number of actors that a ranking has at most. */
export const maxRanked = 1000

/** Actors that one statement reads. A store with fewer needs no summary. */
const pageSize = 2000
/** Records of each kind that count. */
const newestRecords = 5000
/** A summary of this age is renewed behind the request that finds it. */
const renewAfterMs = 15 * 60_000
const setting = 'largest_actors'

type Reads = Pick<Store, 'read' | 'readAllServers' | 'now'>
type Counts = Pick<Store, 'readAllServers' | 'write' | 'now'>

/** Returns up to `most` actors. The numbers of statements and of rows do not depend on the data. */
export async function findRanking(store: Reads, order: ActorOrder, most: number): Promise<Ranking> {
  if (order === 'activity') return { actors: await busiest(store, most), countedAt: store.now() }
  // The summary is read for few actors too, so that every store takes the same statements.
  const [first, summary] = await Promise.all([pageAfter(store, ''), store.read(findSummary)])
  if (first.length < pageSize) return { actors: topOf(first, most), countedAt: store.now() }
  return { actors: summary?.actors.slice(0, most) ?? [], countedAt: summary?.countedAt ?? null }
}

/** Like `findRanking`, for a command: it counts all actors when no summary is new enough. */
export async function currentRanking(store: Reads & Counts, order: ActorOrder, most: number): Promise<Ranking> {
  const found = await findRanking(store, order, most)
  if (!isOld(found, store.now())) return found
  await countLargest(store, () => false)
  return findRanking(store, order, most)
}

function isOld({ countedAt }: Ranking, now: number): boolean {
  return countedAt === null || Math.abs(now - countedAt) >= renewAfterMs
}

/** The rankings for pages. An old summary is renewed behind the request. */
export class Rankings {
  readonly #store: Reads & Counts
  readonly #poller: Poller

  constructor({
    store,
    timers,
    log,
  }: {
    readonly store: Reads & Counts
    readonly timers: Timers
    readonly log: Pick<Log, 'warn'>
  }) {
    this.#store = store
    this.#poller = new Poller(timers, async () => {
      try {
        await countLargest(store, () => this.#poller.isStopping)
      } catch (error) {
        log.warn({ error }, 'Cannot count the largest actors')
      }
      return null
    })
  }

  async find(order: ActorOrder, most: number): Promise<Ranking & { readonly isCounting: boolean }> {
    const found = await findRanking(this.#store, order, most)
    const isCounting = isOld(found, this.#store.now())
    if (isCounting && this.#poller.looking === undefined) this.#poller.wake()
    return { ...found, isCounting }
  }

  stop(): Promise<void> {
    return this.#poller.stop()
  }
}

/** Reads all actors page by page, and stores the largest. */
async function countLargest(store: Counts, isStopping: () => boolean): Promise<void> {
  let actors: readonly RankedActor[] = []
  for (let after = ''; !isStopping(); ) {
    const page = await pageAfter(store, after)
    actors = topOf([...actors, ...page], maxRanked)
    const last = page.at(-1)
    if (last !== undefined && page.length === pageSize) {
      after = last.id
      continue
    }
    const summary = { actors, countedAt: store.now() }
    await store.write((tx) => storeSummary(tx, summary), { durability: 'relaxed' })
    return
  }
}

async function pageAfter(store: Pick<Store, 'readAllServers'>, after: string): Promise<RankedActor[]> {
  const rows = await store.readAllServers<RankedActor>(
    '/* operator */ SELECT id, used_bytes AS amount FROM actor WHERE id > $1 ORDER BY id LIMIT $2',
    after,
    pageSize,
  )
  // A server that is asked alone returns its own first actors.
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, pageSize)
}

async function findSummary(q: Queries): Promise<Ranking | null> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', setting)
  return row === undefined ? null : (JSON.parse(row.value) as Ranking)
}

async function storeSummary(tx: Transaction, summary: Ranking): Promise<void> {
  await tx.run(
    'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value',
    setting,
    JSON.stringify(summary),
  )
}

/** Counts recorded requests of others, and changes by anyone. Reads by owners are not recorded. */
async function busiest(store: Reads, most: number): Promise<RankedActor[]> {
  // All records of an actor are on one server, so the servers rank their own actors.
  const found = await store.readAllServers<RankedActor>(
    `/* operator */ SELECT actor_id AS id, CAST(SUM(times) AS BIGINT) AS amount FROM (
       SELECT actor_id, times FROM (SELECT actor_id, times FROM activity ORDER BY at DESC LIMIT $1) AS requests
       UNION ALL
       SELECT actor_id, 1 AS times FROM (SELECT actor_id FROM history ORDER BY at DESC LIMIT $1) AS changes) AS newest
     GROUP BY actor_id ORDER BY amount DESC, id LIMIT $2`,
    newestRecords,
    most,
  )
  return topOf(found, most)
}

function topOf(actors: readonly RankedActor[], most: number): RankedActor[] {
  return actors
    .filter(({ amount }) => amount > 0)
    .toSorted((a, b) => b.amount - a.amount || (a.id < b.id ? -1 : 1))
    .slice(0, most)
}

/** Returns the actors of a ranking, in its order. Those that were deleted meanwhile are missing. */
export async function listRanked(
  store: Pick<Store, 'read'>,
  ranked: readonly RankedActor[],
): Promise<(ListedActor & { readonly amount: number })[]> {
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
