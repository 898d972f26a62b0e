/** Reads outside a transaction: one connection, one synchronous call per statement. */
import type { Param, Queries } from '../store.ts'
import { retryBusy } from './busy.ts'
import type { Connection } from './connection.ts'
import type { DatabaseFile } from './database-file.ts'
import { isBusy, isRefusedWrite, translate, unavailable } from './failure.ts'
import type { ReadLock } from './read-lock.ts'

export class Reader implements Queries {
  readonly isSharded = false
  readonly #file: DatabaseFile
  readonly #lock: ReadLock
  readonly #busyTimeoutMs: number
  #connection: Connection | undefined

  constructor(file: DatabaseFile, connection: Connection, lock: ReadLock, busyTimeoutMs: number) {
    this.#file = file
    this.#connection = connection
    this.#lock = lock
    this.#busyTimeoutMs = busyTimeoutMs
  }

  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    try {
      return Promise.resolve(this.#ready().all<R>(sql, params))
    } catch (error) {
      return this.#failed(error, (connection) => connection.all<R>(sql, params))
    }
  }

  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    try {
      return Promise.resolve(this.#ready().get<R>(sql, params))
    } catch (error) {
      return this.#failed(error, (connection) => connection.get<R>(sql, params))
    }
  }

  /** Reads from the file, which detects a failing disk. */
  async check(): Promise<void> {
    const touch = (connection: Connection): void => connection.control('SELECT 1 FROM sqlite_schema LIMIT 1')
    try {
      touch(this.#ready())
    } catch (error) {
      await this.#failed(error, touch)
    }
  }

  close(): void {
    this.#lock.close()
    this.#connection?.close()
    this.#connection = undefined
  }

  #ready(): Connection {
    if (this.#connection === undefined || !this.#file.present) {
      this.#file.requirePresent()
      this.#connection ??= this.#file.connectReader()
    }
    this.#lock.take()
    return this.#connection
  }

  /** Handles a failed read. A reader meets a lock only while another process recovers or closes the database. */
  async #failed<T>(error: unknown, again: (connection: Connection) => T): Promise<T> {
    let failure = error
    if (isBusy(failure)) {
      try {
        return await retryBusy(() => again(this.#ready()), this.#busyTimeoutMs)
      } catch (last) {
        failure = last
      }
    }
    if (isRefusedWrite(failure)) throw failure
    if (this.#file.notice(failure)) {
      this.close()
      throw unavailable('The database cannot be read', failure)
    }
    throw translate(failure)
  }
}
