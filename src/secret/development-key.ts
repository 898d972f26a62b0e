/** The key ring of a machine where nobody configured one: a file beside the data, made at the first start. */
import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { generateKey, KeyRingError, parseKeyRing, type KeyRing } from './key-ring.ts'

/**
 * Reads the key file, or makes it readable for its owner alone. Processes that start at the same moment get the same key.
 *
 * @throws KeyRingError naming the file when it cannot be read, made or understood. A file that is there is never replaced.
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

/** Null when there is no such file. */
async function readKeyFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null
    throw new KeyRingError(`The key file ${path} cannot be read (${codeOf(cause)})`, { cause })
  }
}

/**
 * The file is written aside and linked to its name, which fails when the name is taken: nobody ever reads half a key, and
 * of two processes one makes the key and the other takes it.
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
      // Also after a disk that was full: a draft holds a key.
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

/** Sealed data must not outlive a power cut that its key did not. Windows cannot open a directory and needs no sync. */
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
