/**
 * The database files of the runs of this process. Connections stay open from run to run, with their prepared statements: a
 * run starts about five processes, and each would read the schema and prepare its statements again. No other process opens
 * the files, so SQLite locks them without system calls.
 */
import { copyFileSync } from 'node:fs'
import { DatabaseSync, type DatabaseSyncOptions, type StatementSync } from 'node:sqlite'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** By the path of the file: the connections that no process uses, by their options. */
const files = new Map<string, Map<string, Connection[]>>()

interface Connection {
  readonly database: DatabaseSync
  readonly statements: Map<string, StatementSync>
}

/** One use of a connection, by a process or a judge. */
class Use {
  readonly #connection: Connection
  readonly #idle: Connection[]
  isOpen = true

  constructor(connection: Connection, idle: Connection[]) {
    this.#connection = connection
    this.#idle = idle
  }

  get isTransaction(): boolean {
    return this.#connection.database.isTransaction
  }

  exec(sql: string): void {
    this.#connection.database.exec(sql)
  }

  prepare(sql: string): StatementSync {
    const { database, statements } = this.#connection
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    // Two callers with different options for their rows may ask for the same PRAGMA.
    if (!sql.startsWith('PRAGMA')) statements.set(sql, statement)
    return statement
  }

  close(): void {
    this.isOpen = false
    if (this.isTransaction) this.exec('ROLLBACK')
    this.exec('PRAGMA query_only = OFF')
    this.#idle.push(this.#connection)
  }
}

function pathOf(location: string | URL): string {
  if (!(location instanceof URL)) return location
  const file = new URL(location)
  file.search = ''
  return fileURLToPath(file)
}

/** Opens a file that `makeDatabase` made. */
export function openFile(location: string | URL, options: DatabaseSyncOptions = {}): DatabaseSync {
  const path = pathOf(location)
  const pools = files.get(path)
  if (pools === undefined) throw new Error(`The simulation has no database ${path}`)
  const key = JSON.stringify(options)
  const idle = pools.get(key) ?? []
  pools.set(key, idle)
  return new Use(idle.pop() ?? connect(path, options), idle) as unknown as DatabaseSync
}

function connect(path: string, options: DatabaseSyncOptions): Connection {
  const url = pathToFileURL(path)
  url.search = '?mode=rw&vfs=unix-excl'
  return { database: new DatabaseSync(url, options), statements: new Map() }
}

/** Makes a database with the rows of the template. A file of an earlier run stays, without its rows. */
export function makeDatabase(path: string, template: string): void {
  const isNew = !files.has(path)
  if (isNew) {
    copyFileSync(template, path)
    files.set(path, new Map())
  }
  // Without the option, SQLite would check foreign keys of the rows in between.
  const database = openFile(path, { enableForeignKeyConstraints: false })
  if (!isNew) restore(database, template)
  // The first lock of a connection that may write decides that the file belongs to this process.
  else database.exec('BEGIN IMMEDIATE; COMMIT')
  database.close()
}

function restore(database: DatabaseSync, template: string): void {
  const attached = database.prepare("SELECT 1 FROM pragma_database_list WHERE name = 'template'").get()
  if (attached === undefined) database.exec(`ATTACH '${template}' AS template`)
  const tables = database
    .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all() as { name: string }[]
  database.prepare('BEGIN IMMEDIATE').run()
  // Triggers add rows to tables that are empty already.
  for (const { name } of [...tables, ...tables]) database.prepare(`DELETE FROM main."${name}"`).run()
  for (const { name } of tables) database.prepare(`INSERT INTO main."${name}" SELECT * FROM template."${name}"`).run()
  database.prepare('COMMIT').run()
}

/** Closes the connections, so that their folder can be deleted. */
export function closeDatabases(folder: string): void {
  for (const [path, pools] of files) {
    if (!path.startsWith(`${folder}/`)) continue
    for (const { database } of [...pools.values()].flat()) database.close()
    files.delete(path)
  }
}
