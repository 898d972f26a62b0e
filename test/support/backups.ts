/** Databases that do not exist yet, for restores of backups. */
import type { Dialect } from '../../src/store/portable.ts'
import { sharedPostgresUrl } from './postgres.ts'
import { createFileFolder, createPostgresDatabase, type TestDatabase } from './stores.ts'

/** An SQLite file that does not exist yet, or a PostgreSQL database without tables. */
export async function emptyTarget(dialect: Dialect): Promise<TestDatabase> {
  return dialect === 'sqlite' ? createFileFolder() : createPostgresDatabase(await sharedPostgresUrl())
}
