/**
 * Reads about the rows of all actors on a sharded database. Citus answers such a read completely or not at all. While a
 * server is down, this module asks every server for its own parts, so that the other servers still answer.
 */
import pg from 'pg'
import { isTemporary } from '../../errors.ts'
import { isReference } from '../../table/placement.ts'
import { compile } from '../portable.ts'
import type { Param, Queries, StoreLog } from '../store.ts'

/** A part of a distributed table. */
export interface TablePart {
  readonly table: string
  /** The name of the part on its server. */
  readonly name: string
  /** Parts of colocated tables with the same rows of actors have the same range. */
  readonly range: string
  readonly host: string
  readonly port: number
}

interface ServerCommand {
  readonly host: string
  readonly port: number
  readonly sql: string
}

/** Time after a failure during which every server is asked alone, in milliseconds. */
const aloneMs = 30_000

export interface AllServersDeps {
  /** Runs reads in a transaction. */
  readonly snapshot: <T>(work: (q: Queries) => Promise<T>) => Promise<T>
  readonly log: StoreLog
}

export class AllServers {
  readonly #deps: AllServersDeps
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(deps: AllServersDeps) {
    this.#deps = deps
  }

  async read<R extends object>(sql: string, params: readonly Param[]): Promise<R[]> {
    const { snapshot } = this.#deps
    const isLikelyUp = performance.now() - this.#failedAt >= aloneMs
    if (isLikelyUp) {
      try {
        return await snapshot((q) => q.all<R>(sql, ...params))
      } catch (error) {
        if (!isTemporary(error)) throw error
        this.#failedAt = performance.now()
      }
    }
    return snapshot((q) => this.#askEach<R>(q, sql, params, isLikelyUp))
  }

  async #askEach<R>(q: Queries, sql: string, params: readonly Param[], isFirst: boolean): Promise<R[]> {
    const commands = serverCommands(sql, params, await findParts(q, distributedTables(sql)))
    if (commands.length === 0) return []
    const answers = await q.all<{ host: string; port: number; success: number; result: string }>(
      `SELECT node_name AS host, node_port AS port, success, result FROM master_run_on_worker(
         (SELECT array_agg(host ORDER BY place) FROM rows($1, place BIGINT, host TEXT, port BIGINT, command TEXT) AS c),
         (SELECT array_agg(CAST(port AS INTEGER) ORDER BY place)
            FROM rows($1, place BIGINT, host TEXT, port BIGINT, command TEXT) AS c),
         (SELECT array_agg(command ORDER BY place) FROM rows($1, place BIGINT, host TEXT, port BIGINT, command TEXT) AS c),
         true)`,
      JSON.stringify(commands.map(({ host, port, sql: command }, place) => [place, host, port, command])),
    )
    for (const { host, port, success, result } of answers) {
      if (success === 0 && isFirst)
        this.#deps.log('warn', `A server of the database does not answer, its actors wait: ${host}:${port}`, result)
    }
    return answers.flatMap(({ success, result }) => (success === 0 ? [] : (JSON.parse(result) as R[])))
  }
}

const tableName = /\b(FROM|JOIN) (\w+)/g

function distributedTables(sql: string): string[] {
  const names = [...sql.matchAll(tableName)].map(([, , name = '']) => name)
  return [...new Set(names)].filter((name) => !isReference(name))
}

function findParts(q: Queries, tables: readonly string[]): Promise<TablePart[]> {
  return q.all<TablePart>(
    `SELECT s.logicalrelid::text AS "table", shard_name(s.logicalrelid, s.shardid) AS name, s.shardminvalue AS "range",
       n.nodename AS host, n.nodeport AS port
     FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid JOIN pg_dist_node n ON n.groupid = p.groupid
     WHERE n.noderole = 'primary' AND s.logicalrelid::text IN (SELECT name FROM rows($1, name TEXT) AS asked)
     ORDER BY n.nodename, n.nodeport, s.shardminvalue`,
    JSON.stringify(tables.map((table) => [table])),
  )
}

/**
 * The command of each server, which returns the rows of its parts as JSON. A statement names its tables without aliases,
 * and its tables are colocated.
 */
export function serverCommands(sql: string, params: readonly Param[], parts: readonly TablePart[]): ServerCommand[] {
  const { text } = compile(sql, 'postgres')
  return [...Map.groupBy(parts, ({ host, port }) => `${host}:${port}`).values()].flatMap((ofServer) => {
    const [first] = ofServer
    if (first === undefined) return []
    const ranges = [...Map.groupBy(ofServer, ({ range }) => range).values()]
    const asked = ranges.map((range) => {
      const names = new Map(range.map(({ table, name }) => [table, name]))
      const named = text.replaceAll(tableName, (found, word: string, table: string) => {
        const name = names.get(table)
        return name === undefined ? found : `${word} ${name} AS ${table}`
      })
      return `(${named.replaceAll(/\$(\d+)/g, (_, place: string) => literalOf(params[Number(place) - 1] ?? null))})`
    })
    const command = `SELECT COALESCE(json_agg(row_to_json(found)), '[]')::text FROM (${asked.join(' UNION ALL ')}) AS found`
    return [{ host: first.host, port: first.port, sql: command }]
  })
}

function literalOf(param: Param): string {
  if (param === null) return 'NULL'
  return typeof param === 'number' ? String(param) : pg.escapeLiteral(param)
}
