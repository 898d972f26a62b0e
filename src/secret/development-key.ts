/** Key ring for development without configured keys: a file in the data directory, created at the first start. */
import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { generateKey, KeyRingError, parseKeyRing, type KeyRing } from './key-ring.ts'

/**
 * Reads the key file, or creates it, readable only for its owner. Processes that start concurrently get the same key.
 *
 * @throws KeyRingError naming the file when it cannot be read, created or parsed. An existing file is never replaced.
 */
export async function developmentKeyRing(path: string): Promise<KeyRing> {
  const text = (await readKeyFile(path)) ?? (await createKeyFile(path))
  try {
    return parseKeyRing(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new KeyRingError(`The key file ${path} cannot be used. ${why}`, { cause })
  }
}

/** Reads the file. Null when it does not exist. */
async function readKeyFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null
    throw new KeyRingError(`The key file ${path} cannot be read (${codeOf(cause)})`, { cause })
  }
}

/**
 * Creates the key file from a draft by `link`, which fails when the name exists. So no process reads a partial key, and
 * of two processes one creates the key and the other reads it.
 */
async function createKeyFile(path: string): Promise<string> {
  const draft = `${path}.${randomUUID()}`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    try {
      await writeSynced(draft, `${generateKey()}\n`)
      await link(draft, path)
      await syncDirectory(dirname(path))
    } catch (cause) {
      if (codeOf(cause) !== 'EEXIST') throw cause
    } finally {
      // Runs after every failure, such as a full disk, because the draft contains a key.
      await rm(draft, { force: true })
    }
  } catch (cause) {
    throw new KeyRingError(`The key file ${path} cannot be made (${codeOf(cause)})`, { cause })
  }
  const text = await readKeyFile(path)
  if (text === null) throw new KeyRingError(`The key file ${path} was removed while it was made`)
  return text
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs the directory, so that a power loss cannot delete the key of sealed data. Windows cannot and need not do this. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
}
