/** Opens the storage for files that the settings name. */
import type { Config } from '../config/options.ts'
import { ServiceError } from '../errors.ts'
import { DirectoryBytes } from './directory.ts'
import type { FileBytes } from './file-bytes.ts'
import { MemoryBytes } from './memory.ts'

type Settings = Pick<Config, 'files' | 'database' | 'filesAccessKeyId' | 'filesSecretAccessKey'>

/** @param inMemory The database is in the memory of this process, and the files are too. */
export function openFileBytes(settings: Settings, inMemory: boolean): FileBytes {
  if (inMemory) return new MemoryBytes()
  const place = settings.files ?? besideDatabase(settings.database)
  return place === null || place === 'off' ? noBytes : new DirectoryBytes(place)
}

/** `data/troupe.db-files` for `sqlite:data/troupe.db`. Null: several machines may use the database, and share no folder. */
function besideDatabase(database: string): string | null {
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(database)?.[1]
  return file === undefined ? null : `${file}-files`
}

const off = async (): Promise<never> => {
  throw new ServiceError(
    'unavailable',
    'Cannot use files: this service has no storage for them. Set TROUPE_FILES to a folder or an S3-compatible store.',
  )
}

const noBytes: FileBytes = { put: off, open: off, delete: off, close: async () => {} }
