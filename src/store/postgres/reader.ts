/** Reads outside a transaction: many concurrent statements over a few pipelined connections. */
import type pg from 'pg'
import type { Param, Queries } from '../store.ts'
import { isLost, isStalePlan, isTimeout, translate, unavailable } from './failure.ts'
import { control, type StatementAnswer, type StatementResult, send, sendControl } from './send.ts'
import type { Statement, StatementCache } from './statement-cache.ts'

/** The current time; `now()` would return the time at which the transaction began. */
const TIME = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS time'

/** A connection that is opened on demand, and again after it broke. */
class Channel {
  readonly #connect: () => Promise<pg.Client>
  #client: pg.Client | undefined
  #connecting: Promise<pg.Client> | undefined

  constructor(connect: () => Promise<pg.Client>) {
    this.#connect = connect
  }

  get client(): pg.Client | undefined {
    return this.#client
  }

  /** Returns the connection. Concurrent callers wait for the same one. */
  ready(): Promise<pg.Client> {
    if (this.#client !== undefined) return Promise.resolve(this.#client)
    this.#connecting ??= this.#connect()
      .then((client) => {
        client.once('end', () => this.drop(client))
        client.once('error', () => this.drop(client))
        this.#client = client
        return client
      })
      .finally(() => (this.#connecting = undefined))
    return this.#connecting
  }

  /** Stops using a connection; its pending statements still complete. */
  drop(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined
  }

  async close(): Promise<void> {
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined))
    this.#client = undefined
    await client?.end()
  }
}

export interface ReaderDeps {
  readonly connect: () => Promise<pg.Client>
  readonly cache: StatementCache
  readonly connections: number
  readonly pingTimeoutMs: number
  /** `Begins.read` */
  readonly begin: string | undefined
}

export class Reader implements Queries {
  isSharded = false
  readonly #cache: StatementCache
  readonly #channels: readonly Channel[]
  readonly #pingTimeoutMs: number
  readonly #begin: string | undefined
  #next = 0
  #closed = false

  constructor({ connect, cache, connections, pingTimeoutMs, begin }: ReaderDeps) {
    this.#cache = cache
    this.#channels = Array.from({ length: connections }, () => new Channel(connect))
    this.#pingTimeoutMs = pingTimeoutMs
    this.#begin = begin
  }

  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    return this.#ask(sql, params, (result) => result.rows as R[])
  }

  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    return this.#ask(sql, params, (result) => result.rows[0] as R | undefined)
  }

  /** @throws ServiceError `store_unavailable` when no answer comes in time. */
  async ping(): Promise<void> {
    const channel = this.#turn()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(unavailable('The database did not answer in time')), this.#pingTimeoutMs)
    })
    const answer = channel.ready().then((client) => control(client, 'SELECT 1'))
    try {
      await Promise.race([answer, late])
    } catch (error) {
      throw translate(error)
    } finally {
      clearTimeout(timer)
      answer.catch(() => {})
    }
  }

  /** Returns the time of the server's clock (Unix milliseconds). */
  async time(): Promise<number> {
    const client = await this.#turn().ready()
    const { rows } = await control(client, TIME)
    return (rows[0] as { time: number }).time
  }

  /** Returns the connection that serves the next statement. */
  connected(): Promise<pg.Client> {
    const channel = this.#channels[this.#next]
    if (channel === undefined || this.#closed) throw unavailable('The store is closed')
    return channel.ready()
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#channels.map((channel) => channel.close()))
  }

  #ask<T>(sql: string, params: Param[], pick: (result: StatementResult) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const statement = this.#cache.find(sql, params)
      const channel = this.#turn()
      /** Sends the statement. A read can safely be sent again after its connection broke. */
      const attempt = (client: pg.Client, mayRepeat: boolean): void => {
        this.#send(client, statement, params, (error, result) => {
          if (!error) {
            resolve(pick(result))
            return
          }
          const stale = isStalePlan(error)
          if (stale) {
            // Behind a pooler, a new connection may get the session with the stale plan again.
            if (this.#begin !== undefined) this.#cache.stopNaming()
            channel.drop(client)
            client.end().catch(() => {})
          }
          if (mayRepeat && !this.#closed && (stale || (isLost(error) && !isTimeout(error)))) connectAndAttempt(false)
          else reject(translate(error))
        })
      }
      const connectAndAttempt = (mayRepeat: boolean): void => {
        channel.ready().then(
          (client) => attempt(client, mayRepeat),
          (error: unknown) => reject(translate(error)),
        )
      }
      if (channel.client === undefined) connectAndAttempt(true)
      else attempt(channel.client, true)
    })
  }

  /** Sends a statement, in a transaction of its own behind a pooler. The messages leave together and cost one round trip. */
  #send(client: pg.Client, statement: Statement, params: Param[], answer: StatementAnswer): void {
    if (this.#begin !== undefined) sendControl(client, this.#begin, ignore)
    send(client, statement, params, answer)
    if (this.#begin !== undefined) sendControl(client, 'COMMIT', ignore)
  }

  #turn(): Channel {
    const channel = this.#channels[this.#next]
    this.#next = (this.#next + 1) % this.#channels.length
    if (channel === undefined || this.#closed) throw unavailable('The store is closed')
    return channel
  }
}

/** A failed BEGIN or COMMIT of a read also fails its statement, or comes after the statement's rows. */
function ignore(): void {}
