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
