/** Compares the rows with content with their storage. */
import { createHash } from 'node:crypto'
import type { Store } from '../store/store.ts'
import type { ContentKind } from '../table/record-kind.ts'
import type { FileBytes } from './file-bytes.ts'

export interface WrongContent {
  readonly actorId: string
  readonly name: string
  readonly object: string
  readonly problem: 'missing' | 'damaged'
}

const pageRows = 500

/** Reads the content of every row of a kind, and yields the rows without it, or with another. */
export async function* wrongContents(
  store: Store,
  bytes: FileBytes,
  kind: ContentKind,
): AsyncGenerator<WrongContent, void> {
  let after: ContentRow | undefined
  do {
    const [actorId, name] = [after?.actorId ?? '', after?.name ?? '']
    const rows: ContentRow[] = await store.read((q) =>
      q.all<ContentRow>(
        `/* files */ SELECT actor_id AS "actorId", name, object, size, hash FROM ${kind.table}
         WHERE (actor_id, name) > ($1, $2) ORDER BY actor_id, name LIMIT ${pageRows}`,
        actorId,
        name,
      ),
    )
    for (const row of rows) {
      const problem = await problemOf(bytes, row)
      if (problem !== null && (await isStill(store, kind, row)))
        yield { actorId: row.actorId, name: row.name, object: row.object, problem }
    }
    after = rows.at(-1)
  } while (after !== undefined)
}

interface ContentRow {
  readonly actorId: string
  readonly name: string
  readonly object: string
  readonly size: number
  readonly hash: string
}

async function problemOf(
  bytes: FileBytes,
  { object, size, hash }: ContentRow,
): Promise<WrongContent['problem'] | null> {
  const opened = await bytes.open(object, null)
  if (opened === null) return 'missing'
  if (opened.size !== size) {
    await opened.close()
    return 'damaged'
  }
  const digest = createHash('sha256')
  for await (const chunk of opened.bytes) digest.update(chunk)
  return digest.digest('hex') === hash ? null : 'damaged'
}

/** The row may have been replaced or deleted since it was read. */
async function isStill(store: Store, { table }: ContentKind, { actorId, name, object }: ContentRow): Promise<boolean> {
  const row = await store.read((q) =>
    q.get<{ object: string }>(`SELECT object FROM ${table} WHERE actor_id = $1 AND name = $2`, actorId, name),
  )
  return row?.object === object
}

/**
 * Yields the objects of the storage that the database does not name. They are of a database that was replaced by a copy, or
 * of another service.
 */
export async function* strayObjects(store: Store, bytes: FileBytes): AsyncGenerator<string, void> {
  // A part of the names at a time, because a storage may have millions.
  for (const digit of '0123456789abcdef') {
    const known = await namedObjects(store, digit)
    for await (const page of bytes.list(digit))
      for (const object of page) if (!known.has(object) && !(await isNamed(store, object))) yield object
  }
}

async function namedObjects(store: Store, digit: string): Promise<ReadonlySet<string>> {
  // No key has the letter g.
  const rows = await store.readAllServers<{ object: string }>(
    '/* files */ SELECT object FROM file_object WHERE object >= $1 AND object < $2',
    digit,
    `${digit}g`,
  )
  return new Set(rows.map(({ object }) => object))
}

/** An upload may have begun since the names were read. */
async function isNamed(store: Store, object: string): Promise<boolean> {
  const rows = await store.readAllServers('/* files */ SELECT object FROM file_object WHERE object = $1', object)
  return rows.length > 0
}
