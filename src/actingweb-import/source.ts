/** Reads a PostgreSQL database of the Python library ActingWeb 3.x. Its sessions are read-only. */
import type { RivalActor } from './shared-creators.ts'
import pg from 'pg'
import { StoreStartError } from '../store/start-error.ts'

export interface SourceOptions {
  readonly url: string
  /** The schema of the tables. */
  readonly schema: string
  /** Connections that read at the same time. */
  readonly connections: number
}

/** An actor of the source. */
export interface SourceActor {
  readonly id: string
  readonly creator: string
  readonly passphrase: string
  /** Unix milliseconds. */
  readonly createdAt: number
}

/** A property, or an item of a list. */
export interface SourceValue {
  readonly name: string
  readonly value: string
}

export interface SourceAttribute {
  readonly bucket: string
  readonly name: string
  /** JSON. */
  readonly data: string
  /** Unix milliseconds. Null: unknown. */
  readonly timestamp: number | null
  /** Unix milliseconds. Null: no end. */
  readonly endsAt: number | null
}

/** A row of a table whose columns depend on the release of the library. Times are texts in UTC, without a zone. */
export type SourceRow = Readonly<Record<string, unknown>>

/** Tables that have few rows of an actor. */
export type SmallTable = 'trusts' | 'subscriptions' | 'subscription_diffs' | 'subscription_suspensions' | 'peertrustees'

const needed = [
  'actors',
  'properties',
  'attributes',
  'trusts',
  'subscriptions',
  'subscription_diffs',
  'peertrustees',
] as const

/** Rows in one page. */
const pageRows = 512

/** The letters of ASCII alone, as this service compares creators: `lower` also merges letters that only look alike. */
const lowerAsciiOf = (column: string): string =>
  `translate(${column}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')`

const milliseconds = (column: string): string => `CAST(EXTRACT(EPOCH FROM ${column}) * 1000 AS BIGINT)`

export class SourceDatabase {
  /** For messages, without the password. */
  readonly name: string
  readonly #pool: pg.Pool
  /** The quoted schema, with a dot. */
  readonly #in: string
  readonly #tables: ReadonlySet<string>

  private constructor(name: string, pool: pg.Pool, schema: string, tables: ReadonlySet<string>) {
    this.name = name
    this.#pool = pool
    this.#in = `${pg.escapeIdentifier(schema)}.`
    this.#tables = tables
  }

  /** @throws StoreStartError when the database cannot be read, or has other tables. */
  static async open({ url, schema, connections }: SourceOptions): Promise<SourceDatabase> {
    const pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: 10_000,
      options: '-c default_transaction_read_only=on',
    })
    // Each read has its own error, and the pool replaces the connection.
    pool.on('error', () => {})
    const name = nameOf(url)
    try {
      const found = await pool.query<{ name: string }>(
        'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1',
        [schema],
      )
      const tables = new Set(found.rows.map((row) => row.name))
      const missing = needed.filter((table) => !tables.has(table))
      if (missing.length > 0)
        throw new StoreStartError(
          `Cannot read ${name}: its schema ${schema} lacks the tables ${missing.join(', ')} of ActingWeb 3.x.`,
        )
      return new SourceDatabase(name, pool, schema, tables)
    } catch (error) {
      await pool.end()
      if (error instanceof StoreStartError) throw error
      throw new StoreStartError(
        `Cannot read ${name}: ${error instanceof Error ? error.message : String(error)}.`,
        error,
      )
    }
  }

  async #rows<T extends object>(sql: string, ...values: readonly unknown[]): Promise<T[]> {
    try {
      const { rows } = await this.#pool.query<T>(sql, [...values])
      return rows
    } catch (error) {
      throw unreadable(this.name, error)
    }
  }

  /** Reads up to `most` rows of actors after an id, in the order of their ids and ages. */
  async actorsAfter(id: string, most: number): Promise<SourceActor[]> {
    const rows = await this.#rows<{ id: string; creator: string; passphrase: string; created: string | null }>(
      `SELECT id, creator, passphrase, ${milliseconds('created_at')} AS created FROM ${this.#in}actors
       WHERE id > $1 COLLATE "C" ORDER BY id COLLATE "C", created_at NULLS LAST, creator COLLATE "C" LIMIT $2`,
      id,
      most,
    )
    return rows.map(({ created, ...actor }) => ({ ...actor, createdAt: created === null ? 0 : Number(created) }))
  }

  /** The number of actors that `actorsAfter` reads, each once. */
  async countActors(): Promise<number> {
    const [row] = await this.#rows<{ actors: number }>(
      `SELECT CAST(COUNT(DISTINCT id) AS INTEGER) AS actors FROM ${this.#in}actors WHERE id NOT LIKE '\\_%'`,
    )
    return row?.actors ?? 0
  }

  /** The actors with several rows, which only tables without their primary key have. */
  repeatedActors(): Promise<{ readonly id: string; readonly rows: number }[]> {
    return this.#rows(
      `SELECT id, CAST(COUNT(*) AS INTEGER) AS rows FROM ${this.#in}actors GROUP BY id HAVING COUNT(*) > 1 ORDER BY id COLLATE "C"`,
    )
  }

  /** The actors of each creator that has several. */
  async rivalActors(): Promise<readonly RivalActor[]> {
    const rows = await this.#rows<{
      id: string
      creator: string
      created: string | null
      signed: boolean
      unverified: boolean
    }>(
      `SELECT a.id, a.creator, ${milliseconds('a.created_at')} AS created,
         EXISTS (SELECT 1 FROM ${this.#in}attributes AS s WHERE s.id = a.id AND s.bucket = '_internal'
           AND s.name IN ('auth_method', 'oauth_provider', 'oauth_token')
           AND CAST(s.data AS text) !~ '^(null$|""$|[{\\[])') AS signed,
         EXISTS (SELECT 1 FROM ${this.#in}attributes AS s WHERE s.id = a.id AND s.bucket = '_internal'
           AND s.name = 'email_verified' AND CAST(s.data AS text) IN ('"false"', 'false')) AS unverified
       FROM ${this.#in}actors AS a
       WHERE ${lowerAsciiOf('a.creator')} IN (
         SELECT ${lowerAsciiOf('creator')} FROM ${this.#in}actors GROUP BY ${lowerAsciiOf('creator')} HAVING COUNT(DISTINCT id) > 1)
       ORDER BY a.id COLLATE "C", a.created_at NULLS LAST`,
    )
    // The oldest one of several rows of an actor counts.
    return [...new Map(rows.toReversed().map((row) => [row.id, row])).values()].map(
      ({ id, creator, created, signed, unverified }) => ({
        id,
        creator,
        createdAt: created === null ? 0 : Number(created),
        account: !signed ? 'none' : unverified ? 'unverified' : 'verified',
      }),
    )
  }

  /** Yields the properties of an actor that are not rows of lists, page by page. */
  properties(actorId: string): AsyncGenerator<readonly SourceValue[], void> {
    return this.#pages(`id = $1 AND name NOT LIKE 'list:%'`, [actorId], 'name COLLATE "C"')
  }

  /** The rows that hold the metadata of lists. */
  async listHeads(actorId: string): Promise<SourceValue[]> {
    return this.#rows(
      `SELECT name, value FROM ${this.#in}properties WHERE id = $1 AND name LIKE 'list:%-meta' ORDER BY name COLLATE "C"`,
      actorId,
    )
  }

  /** Yields the rows whose names are between two names, page by page, in the order of their bytes. */
  between(actorId: string, lower: string, upper: string): AsyncGenerator<readonly SourceValue[], void> {
    return this.#pages(
      'id = $1 AND name >= $2 COLLATE "C" AND name < $3 COLLATE "C"',
      [actorId, lower, upper],
      'name COLLATE "C"',
    )
  }

  /** Like `between`, with shorter names first, so that decimal numbers ascend. */
  numbered(actorId: string, lower: string, upper: string): AsyncGenerator<readonly SourceValue[], void> {
    return this.#pages(
      'id = $1 AND name >= $2 COLLATE "C" AND name < $3 COLLATE "C"',
      [actorId, lower, upper],
      'length(name), name COLLATE "C"',
    )
  }

  async *#pages(where: string, values: readonly string[], order: string): AsyncGenerator<readonly SourceValue[], void> {
    const last = `$${values.length + 1}`
    const after = `(${order}) > (${order.replaceAll('name', `CAST(${last} AS TEXT)`)})`
    for (let name: string | null = null; ; ) {
      const rows: SourceValue[] = await this.#rows<SourceValue>(
        `SELECT name, value FROM ${this.#in}properties WHERE ${where} AND (CAST(${last} AS TEXT) IS NULL OR ${after}) ORDER BY ${order} LIMIT ${pageRows}`,
        ...values,
        name,
      )
      if (rows.length > 0) yield rows
      if (rows.length < pageRows) return
      name = rows.at(-1)?.name ?? null
    }
  }

  attributes(actorId: string): Promise<SourceAttribute[]> {
    return this.#attributes('id = $1', '', actorId)
  }

  /** Reads up to `most` attributes of an owner in one bucket, after a name. */
  attributesAfter(owner: string, bucket: string, name: string, most: number): Promise<SourceAttribute[]> {
    return this.#attributes(`id = $1 AND bucket = $2 AND name > $3 COLLATE "C"`, 'LIMIT $4', owner, bucket, name, most)
  }

  /** The attributes of an owner in one bucket whose data names one of the actors. */
  attributesNaming(owner: string, bucket: string, actorIds: readonly string[]): Promise<SourceAttribute[]> {
    return this.#attributes(`id = $1 AND bucket = $2 AND data ->> 'actor_id' = ANY ($3)`, '', owner, bucket, actorIds)
  }

  async #attributes(where: string, limit: string, ...values: readonly unknown[]): Promise<SourceAttribute[]> {
    const rows = await this.#rows<{
      bucket: string
      name: string
      data: string | null
      at: string | null
      ends: string | null
    }>(
      `SELECT bucket, name, CAST(data AS TEXT) AS data, ${milliseconds('timestamp')} AS at, ttl_timestamp AS ends FROM ${this.#in}attributes
       WHERE ${where} ORDER BY bucket COLLATE "C", name COLLATE "C" ${limit}`,
      ...values,
    )
    return rows.map(({ bucket, name, data, at, ends }) => ({
      bucket,
      name,
      data: data ?? 'null',
      timestamp: at === null ? null : Number(at),
      endsAt: ends === null ? null : Number(ends) * 1000,
    }))
  }

  /** The rows of an actor in a table. Empty when this release of the library had no such table. */
  async rowsOf(table: SmallTable, actorId: string): Promise<SourceRow[]> {
    if (!this.#tables.has(table)) return []
    const rows = await this.#rows<{ row: SourceRow }>(
      `SELECT to_jsonb(found) AS row FROM ${this.#in}${table} AS found WHERE id = $1`,
      actorId,
    )
    return rows.map(({ row }) => row)
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

function unreadable(name: string, error: unknown): StoreStartError {
  if (error instanceof StoreStartError) return error
  const causes: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  const [cause] = causes
  return new StoreStartError(`Cannot read ${name}: ${cause instanceof Error ? cause.message : String(cause)}.`, error)
}

function nameOf(url: string): string {
  const { hostname, port, pathname } = URL.parse(url) ?? { hostname: '?', port: '', pathname: '' }
  return `the ActingWeb database "${decodeURIComponent(pathname.slice(1))}" at ${hostname}${port === '' ? '' : `:${port}`}`
}
