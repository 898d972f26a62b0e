/** SQLite on a disk that fails when a test says so. */
import { DatabaseSync, type DatabaseSyncOptions, type StatementSync } from 'node:sqlite'
import { readMigrations } from '../../src/store/migrate.ts'
import { openSqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'

export class BrittleDisk {
  /** Thrown in place of the next COMMIT. */
  nextCommit: Error | undefined
  /** Called once after the next COMMIT. */
  afterNextCommit: (() => void) | undefined
  /** Called when a transaction cannot begin. */
  onBusy: (() => void) | undefined
  readonly opened: DatabaseSync[] = []
  /** Returns how many pages the database may have when a transaction begins. Default: any number. */
  maxPages: (() => number) | undefined
  #pragma = ''

  /** Sets the pragma on all open and future connections. */
  setPragma(pragma: string): void {
    this.#pragma = pragma
    for (const database of this.opened) if (database.isOpen) database.exec(pragma)
  }

  openStore(path: string, options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
    return openSqliteStore({
      path,
      synchronous: 'FULL',
      migrations: readMigrations(),
      busyTimeoutMs: 5_000,
      batchSize: 256,
      snapshotConnections: 4,
      onQuery: undefined,
      log: () => {},
      open: (location, settings) => {
        const database = new BrittleDatabase(location, settings, this)
        this.opened.push(database)
        database.exec(this.#pragma)
        return database
      },
      ...options,
    })
  }
}

/** A SQLite connection whose COMMIT fails when the disk fails. */
class BrittleDatabase extends DatabaseSync {
  readonly #disk: BrittleDisk

  constructor(location: URL, options: DatabaseSyncOptions, disk: BrittleDisk) {
    super(location, options)
    this.#disk = disk
  }

  override prepare(sql: string): StatementSync {
    const statement = super.prepare(sql)
    const run = statement.run.bind(statement)
    if (sql === 'BEGIN IMMEDIATE')
      statement.run = () => {
        const most = this.#disk.maxPages?.()
        if (most !== undefined) this.exec(`PRAGMA max_page_count = ${most}`)
        try {
          return run()
        } catch (error) {
          this.#disk.onBusy?.()
          throw error
        }
      }
    if (sql !== 'COMMIT') return statement
    statement.run = () => {
      const failure = this.#disk.nextCommit
      this.#disk.nextCommit = undefined
      if (failure !== undefined) throw failure
      const result = run()
      const { afterNextCommit } = this.#disk
      this.#disk.afterNextCommit = undefined
      afterNextCommit?.()
      return result
    }
    return statement
  }
}
