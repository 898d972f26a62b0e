/** Records the shards of a Citus cluster that the requests of this process use. Background work is not recorded. */
import pg from 'pg'
import { isInBackground } from '../../src/observe/context.ts'
import { placements } from './placements.ts'
import type { Cluster } from './cluster.ts'

/** Citus names the shard in each command that it runs, on another server or on its own. */
const commandStart = /^(?:issuing|executing the command locally:) /
const shardOfTable = /_(\d{6,})\b/g

export class ShardWatch {
  /** By the number of a shard: the group of its table, and the first hash of the shard. */
  readonly #places: ReadonlyMap<string, string>
  readonly #seen = new Set<string>()
  #restore: () => void = () => {}

  private constructor(places: ReadonlyMap<string, string>) {
    this.#places = places
  }

  /** Starts to record. Connections that are opened later are recorded. */
  static async start(cluster: Cluster): Promise<ShardWatch> {
    const database = new URL(cluster.url).pathname.slice(1)
    for (const setting of ['log_remote_commands', 'log_local_commands'])
      await cluster.query(`ALTER DATABASE ${database} SET citus.${setting} = on`)
    const shards = await cluster.query<{ shard: string; name: string; least: string | null }>(
      `SELECT shardid::text AS shard, logicalrelid::text AS name, shardminvalue AS least FROM pg_dist_shard`,
    )
    const places = shards.flatMap(({ shard, name, least }) => {
      const place = placements[name]
      if (place?.kind !== 'distributed') return []
      // Tables by a key of their own have different keys, so two of them are never the same place.
      return [[shard, `${place.group === 'key' ? name : place.group} ${least}`] as const]
    })
    const watch = new ShardWatch(new Map(places))
    watch.#restore = watch.#listen()
    return watch
  }

  /** Notes for each query whether it is of a request, and reads the notices that come during it. */
  #listen(): () => void {
    const { emit, query } = prototype
    const ofRequests = new WeakSet<object>()
    const note = (message: string): void => this.#note(message)
    prototype.query = function (this: Watched, ...args: unknown[]): unknown {
      const result: unknown = query.apply(this, args)
      const [given] = args
      const queued = this._queryQueue?.at(-1) ?? this._sentQueryQueue?.at(-1) ?? this._activeQuery
      const made = isQuery(given) ? given : queued
      if (made && !isInBackground()) ofRequests.add(made)
      return result
    }
    prototype.emit = function (this: Watched, event: string | symbol, ...args: unknown[]): boolean {
      const [notice] = args as [{ message?: string } | undefined]
      const active = this._activeQuery
      if (event === 'notice' && active && ofRequests.has(active)) note(notice?.message ?? '')
      return emit.call(this, event, ...args)
    }
    return () => void Object.assign(prototype, { emit, query })
  }

  #note(message: string): void {
    if (!commandStart.test(message)) return
    for (const [, shard = ''] of message.matchAll(shardOfTable)) {
      const place = this.#places.get(shard)
      if (place !== undefined) this.#seen.add(place)
    }
  }

  /** The shards since the last call: the group of each, or its table when the table has a key of its own. */
  take(): readonly string[] {
    const seen = [...this.#seen].toSorted().map((place) => place.split(' ')[0] ?? '')
    this.#seen.clear()
    return seen
  }

  stop(): void {
    this.#restore()
  }
}

/** The parts of a client of `pg` that tell which query runs. */
interface Watched {
  query: (this: Watched, ...args: unknown[]) => unknown
  emit: (this: Watched, event: string | symbol, ...args: unknown[]) => boolean
  readonly _activeQuery?: object | null
  readonly _queryQueue?: readonly object[]
  readonly _sentQueryQueue?: readonly object[]
}

const prototype: Watched = pg.Client.prototype

function isQuery(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'submit' in value
}
