/** Rebuilds the look-up table when the configured properties changed since it was built. */
import { known } from '../json/json.ts'
import type { Store } from '../store/store.ts'
import { checksumOf } from '../store/checksum.ts'
import { lookupText } from './lookup.ts'

const setting = 'indexed_properties'

export async function rebuildLookups(store: Store, indexed: ReadonlySet<string>): Promise<void> {
  const wanted = JSON.stringify([...indexed].toSorted())
  const isCurrent = async (q: Parameters<Parameters<Store['read']>[0]>[0]): Promise<boolean> => {
    const built = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', setting)
    return built?.value === wanted
  }
  if (await store.read(isCurrent)) return
  await store.write(async (tx) => {
    if (await isCurrent(tx)) return
    const names = JSON.stringify([...indexed].map((name) => [name]))
    await tx.run(
      'DELETE FROM property_lookup WHERE name NOT IN (SELECT name FROM rows($1, name TEXT) AS wanted)',
      names,
    )
    // When several actors have the same value, the oldest one is found by it.
    const rows = await tx.all<{ actor_id: string; name: string; value: string; checksum: number | null }>(
      `SELECT property.actor_id, property.name, property.value, property.checksum FROM property JOIN actor ON actor.id = property.actor_id
       WHERE property.kind = 'value' AND property.name IN (SELECT name FROM rows($1, name TEXT) AS wanted)
       ORDER BY actor.created_at, actor.id`,
      names,
    )
    const entries = rows.flatMap(({ actor_id, name, value, checksum }) => {
      // A damaged value finds no actor, and must not prevent the start of the service.
      const isDamaged = checksum !== null && checksum !== checksumOf(actor_id, name, value)
      const text = isDamaged ? null : lookupText(known(value))
      return text === null ? [] : [[name, text, actor_id]]
    })
    if (tx.isSharded) {
      await tx.run('DELETE FROM actor_lookup')
      await tx.run(
        `INSERT INTO actor_lookup (actor_id, name, value) SELECT entry.actor_id, entry.name, entry.value
         FROM rows($1, name TEXT, value TEXT, actor_id TEXT) AS entry WHERE true ON CONFLICT (actor_id, name) DO NOTHING`,
        JSON.stringify(entries),
      )
    }
    await tx.run(
      `INSERT INTO property_lookup (name, value, actor_id)
       SELECT entry.name, entry.value, entry.actor_id FROM rows($1, name TEXT, value TEXT, actor_id TEXT) AS entry WHERE true
       ON CONFLICT (name, value) DO NOTHING`,
      JSON.stringify(entries),
    )
    await tx.run(
      'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      setting,
      wanted,
    )
  })
}
