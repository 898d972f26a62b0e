/** Copies an SQLite file in use, and checks a copy. */
import { closeSync, openSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { migrate, type Migration } from '../migrate.ts'
import { Connection } from './connection.ts'
import { onConnection } from './memory-store.ts'

/**
 * All pages in one step. A step sees one moment of the file. Between two steps, a change by another process would make the
 * copy begin again.
 */
const allPages = 2 ** 31 - 1

/** Copies the file while others use it, to a new file that only its owner may read. An earlier file there is deleted. */
export async function copyDatabase(path: string, copy: string): Promise<void> {
  for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(`${copy}${ending}`, { force: true })
  closeSync(openSync(copy, 'wx', 0o600))
  const location = pathToFileURL(path)
  location.search = '?mode=rw'
  const source = new DatabaseSync(location, { timeout: 5_000 })
  try {
    source.exec('PRAGMA query_only = ON')
    await backup(source, copy, { rate: allPages })
  } finally {
    source.close()
  }
}

/**
 * Returns the name of a table, index, view or trigger of a file that the migrations do not make, or make otherwise. Null: none. A
 * trigger would run with each later change.
 */
export async function strangeObjectOf(path: string, migrations: readonly Migration[]): Promise<string | null> {
  const made = new DatabaseSync(':memory:')
  const location = pathToFileURL(path)
  location.search = '?immutable=1'
  const file = new DatabaseSync(location, { readOnly: true })
  try {
    await migrate(migrations, onConnection(new Connection(made, undefined, () => {})))
    const known = new Set(objectsOf(made).map((object) => JSON.stringify(object)))
    const found = objectsOf(file)
    const strange = found.find((object) => !known.has(JSON.stringify(object)))
    if (strange !== undefined) return String(strange['name'])
    return found.length === known.size ? null : 'schema'
  } finally {
    made.close()
    file.close()
  }
}

function objectsOf(database: DatabaseSync): Record<string, unknown>[] {
  const sql = `SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`
  return database.prepare(sql).all()
}

/** Returns the first damage of a file that no process uses. Null: none was found. */
export function damageOf(path: string): string | null {
  const location = pathToFileURL(path)
  // Without it, reading a file in a folder without the right to write would fail.
  location.search = '?immutable=1'
  try {
    const database = new DatabaseSync(location, { readOnly: true })
    try {
      const found = database.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']
      return found === 'ok' ? null : String(found).split('\n').join(' ')
    } finally {
      database.close()
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
