/** Finds actors by the value of a property. The transaction that changes an indexed value also updates its entry. */
import { type JsonText, kindOf, stringValue } from '../json/json.ts'
import type { Transaction } from '../store/store.ts'

/** In UTF-8 bytes. A longer value is not indexed. */
const maxIndexedValueBytes = 2048

/** Returns the string by which a value is found. Null: the value is not indexed. */
export function lookupText(value: JsonText): string | null {
  const kind = kindOf(value)
  const text = kind === 'string' ? stringValue(value) : kind === 'number' ? value : null
  if (text === null || text === '' || text.includes('\0') || !text.isWellFormed()) return null
  return Buffer.byteLength(text) > maxIndexedValueBytes ? null : text
}

/**
 * Replaces the actor's entries for the names in `values`. Null deletes an entry. Returns the names whose value already
 * belongs to another actor, because the first owner keeps it.
 */
export async function replaceLookups(
  tx: Transaction,
  actorId: string,
  values: ReadonlyMap<string, JsonText | null>,
): Promise<string[]> {
  if (values.size === 0) return []
  const names = JSON.stringify([...values.keys()].map((name) => [name]))
  if (tx.isSharded) await deleteKnownLookups(tx, actorId, names)
  else
    await tx.run(
      'DELETE FROM property_lookup WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS gone)',
      actorId,
      names,
    )
  const entries = [...values].flatMap(([name, value]) => {
    const text = value === null ? null : lookupText(value)
    return text === null ? [] : [[name, text] as const]
  })
  if (entries.length === 0) return []
  if (tx.isSharded) return insertKnownLookups(tx, actorId, entries)
  const kept = await tx.all<{ name: string }>(
    `INSERT INTO property_lookup (name, value, actor_id)
     SELECT entry.name, entry.value, $1 FROM rows($2, name TEXT, value TEXT) AS entry WHERE true
     ON CONFLICT (name, value) DO NOTHING RETURNING name`,
    actorId,
    JSON.stringify(entries),
  )
  const indexed = new Set(kept.map((row) => row.name))
  return entries.map(([name]) => name).filter((name) => !indexed.has(name))
}

/** Deletes the entries of the names by their values, which actor_lookup contains on a sharded database. */
async function deleteKnownLookups(tx: Transaction, actorId: string, names: string): Promise<void> {
  const known = await tx.all<{ name: string; value: string }>(
    `DELETE FROM actor_lookup WHERE actor_id = $1 AND name IN (SELECT name FROM rows($2, name TEXT) AS gone)
     RETURNING name, value`,
    actorId,
    names,
  )
  await deleteEntries(tx, actorId, known)
}

/** Deletes all entries of an actor of a sharded database. */
export async function deleteAllLookups(tx: Transaction, actorId: string): Promise<void> {
  const known = await tx.all<{ name: string; value: string }>(
    'DELETE FROM actor_lookup WHERE actor_id = $1 RETURNING name, value',
    actorId,
  )
  await deleteEntries(tx, actorId, known)
}

async function deleteEntries(
  tx: Transaction,
  actorId: string,
  known: readonly { readonly name: string; readonly value: string }[],
): Promise<void> {
  for (const { name, value } of known)
    await tx.run('DELETE FROM property_lookup WHERE name = $1 AND value = $2 AND actor_id = $3', name, value, actorId)
}

/** Returns the names whose value already belongs to another actor. */
async function insertKnownLookups(
  tx: Transaction,
  actorId: string,
  entries: readonly (readonly [name: string, value: string])[],
): Promise<string[]> {
  const taken: string[] = []
  for (const [name, value] of entries) {
    const inserted = await tx.run(
      'INSERT INTO property_lookup (name, value, actor_id) VALUES ($1, $2, $3) ON CONFLICT (name, value) DO NOTHING',
      name,
      value,
      actorId,
    )
    if (inserted === 0) taken.push(name)
    else await tx.run('INSERT INTO actor_lookup (actor_id, name, value) VALUES ($1, $2, $3)', actorId, name, value)
  }
  return taken
}
