/** Runs snapshots on a few connections, one at a time each. Connections are opened on demand. */
import type { Queries } from '../store.ts'
import { retryBusy } from './busy.ts'
import type { Connection } from './connection.ts'
import type { DatabaseFile } from './database-file.ts'
import { isRefusedWrite, translate, unavailable } from './failure.ts'
import { Statements } from './statements.ts'

export interface SnapshotsOptions {
  readonly connections: number
  /** Timeout for a free connection or for the lock of another process, in milliseconds. */
  readonly busyTimeoutMs: number
}

export class Snapshots {
  readonly #file: DatabaseFile
  readonly #options: SnapshotsOptions
  #free: Connection[] = []
  #taken = 0
  #waiting: (() => void)[] = []
  #drained: (() => void) | undefined

  constructor(file: DatabaseFile, options: SnapshotsOptions) {
    this.#file = file
    this.#options = options
  }

  async take<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    await this.#turn()
    let connection: Connection | undefined
    try {
      connection = await this.#begin()
      const statements = new Statements(connection)
      try {
        const result = await work(statements)
        statements.finish()
        connection.control('COMMIT')
        this.#free.push(connection)
        return result
      } catch (error) {
        statements.close()
        this.#end(connection, statements.failure)
        throw error
      }
    } catch (error) {
      if (isRefusedWrite(error)) throw error
      this.#file.notice(error)
      throw translate(error)
    } finally {
      this.#taken--
      this.#waiting.shift()?.()
      if (this.#taken === 0) this.#drained?.()
    }
  }

  /** Waits for running snapshots, then closes the connections. */
  async close(): Promise<void> {
    if (this.#taken > 0) await new Promise<void>((resolve) => (this.#drained = resolve))
    for (const connection of this.#free) connection.close()
    this.#free = []
  }

  /** Waits until fewer snapshots run than there may be connections. */
  async #turn(): Promise<void> {
    if (this.#taken < this.#options.connections) {
      this.#taken++
      return
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== proceed)
        reject(unavailable('All connections for snapshots are in use'))
      }, this.#options.busyTimeoutMs)
      const proceed = (): void => {
        clearTimeout(timer)
        this.#taken++
        resolve()
      }
      this.#waiting.push(proceed)
    })
  }

  async #begin(): Promise<Connection> {
    if (!this.#file.present) this.#file.requirePresent()
    const { busyTimeoutMs } = this.#options
    const connection = this.#free.pop() ?? (await retryBusy(() => this.#file.connectReader(), busyTimeoutMs))
    try {
      connection.control('BEGIN')
      // The first read fixes the snapshot that all later reads see.
      await retryBusy(() => connection.control('SELECT 1 FROM sqlite_schema LIMIT 1'), busyTimeoutMs)
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  #end(connection: Connection, failure: unknown): void {
    if (this.#file.notice(failure)) {
      connection.close()
      return
    }
    try {
      connection.control('ROLLBACK')
      this.#free.push(connection)
    } catch {
      connection.close()
    }
  }
}
