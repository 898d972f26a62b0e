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
  if (place === null || place === 'off') return noBytes
  if (!place.startsWith('s3:')) return new DirectoryBytes(place)
  const { filesAccessKeyId, filesSecretAccessKey } = settings
  const key = { accessKeyId: filesAccessKeyId ?? '', secretAccessKey: filesSecretAccessKey ?? '' }
  return lazily(async () => {
    const { S3Bytes, s3Settings } = await import('./s3.ts')
    return new S3Bytes(s3Settings(place, key))
  })
}

/** Whether the settings name a storage for files. */
export function hasFileStorage({ files, database }: Pick<Settings, 'files' | 'database'>): boolean {
  const place = files ?? besideDatabase(database)
  return place !== null && place !== 'off'
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

const noBytes: FileBytes = { put: off, open: off, delete: off, async *list() {}, close: async () => {} }

/** Loads a storage when the first file needs it, so that a start loads little (docs/decisions/059). */
function lazily(load: () => Promise<FileBytes>): FileBytes {
  let loading: Promise<FileBytes> | undefined
  const loaded = (): Promise<FileBytes> => (loading ??= load())
  return {
    put: async (key, chunks) => (await loaded()).put(key, chunks),
    open: async (key, range) => (await loaded()).open(key, range),
    delete: async (key) => (await loaded()).delete(key),
    async *list(digit) {
      yield* (await loaded()).list(digit)
    },
    close: async () => (await loading)?.close(),
  }
}
