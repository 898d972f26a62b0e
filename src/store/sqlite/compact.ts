/** Returns the free pages of a database file to the file system. */
import { DatabaseSync } from 'node:sqlite'
import { StoreStartError } from '../start-error.ts'
import { fileBytes } from './database-file.ts'
import { isFull } from './failure.ts'

/**
 * Writes the file again without its free pages. A running service continues: its reads see the file as it was, and its
 * changes wait until the end.
 *
 * @returns the size before and after, in bytes.
 * @throws StoreStartError
 */
export function compactSqlite(
  path: string,
  busyTimeoutMs: number,
): { readonly before: number; readonly after: number } {
  const before = fileBytes(path)
  try {
    const database = new DatabaseSync(path, { timeout: busyTimeoutMs })
    try {
      // Otherwise the log of changes grows by the size of the file.
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      database.exec('VACUUM')
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      database.close()
    }
  } catch (error) {
    const needs = isFull(error) ? ', which needs as much free space as the file will have' : ''
    throw new StoreStartError(
      `Cannot compact the database file ${path}${needs}: ${error instanceof Error ? error.message : String(error)}.`,
      error,
    )
  }
  return { before, after: fileBytes(path) }
}
