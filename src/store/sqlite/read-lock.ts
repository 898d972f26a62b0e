/**
 * Holds the lock of readers on the database file from the first read in a turn of the event loop until the end of the turn.
 * Each read locks and unlocks the file, and the two system calls take two thirds of a short read. While another connection
 * of this process holds the lock, SQLite needs no system call. The reads still see every commit, because each of them remains
 * a transaction of its own.
 */
import type { Connection } from './connection.ts'
import type { DatabaseFile } from './database-file.ts'

export class ReadLock {
  readonly #file: DatabaseFile
  #connection: Connection | undefined
  /** Whether the lock was taken since the last release. True also when it could not be taken. */
  #isTaken = false
  #endsWithTurn = false

  constructor(file: DatabaseFile) {
    this.#file = file
  }

  take(): void {
    if (this.#isTaken) return
    this.#isTaken = true
    if (!this.#endsWithTurn) {
      this.#endsWithTurn = true
      setImmediate(this.#endTurn)
    }
    try {
      this.#connection ??= this.#file.connectReader()
      this.#connection.control('BEGIN')
      this.#connection.control('SELECT 1 FROM sqlite_schema LIMIT 1')
    } catch {
      // Each read now locks the file itself, and reports the failure if it fails too.
      this.close()
    }
  }

  /** Before a commit, because SQLite can empty its log only up to the oldest lock. */
  release(): void {
    if (!this.#isTaken) return
    this.#isTaken = false
    try {
      this.#connection?.control('ROLLBACK')
    } catch {
      this.close()
    }
  }

  close(): void {
    const connection = this.#connection
    this.#connection = undefined
    connection?.close()
  }

  readonly #endTurn = (): void => {
    this.#endsWithTurn = false
    this.release()
  }
}
