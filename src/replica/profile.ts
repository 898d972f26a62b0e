/** Updates the profile of a peer from its callbacks, between two fetches. */
import { known, type JsonText, members, object, stringText } from '../json/json.ts'
import type { Transaction } from '../store/store.ts'
import { findFact, ownersOf, type PeerKey, putFact } from './facts-store.ts'

/**
 * Stores these attributes in the profile; null removes one. Returns whether the profile changed.
 *
 * @param now Unix milliseconds.
 */
export async function updateProfile(
  tx: Transaction,
  key: PeerKey,
  attributes: ReadonlyMap<string, JsonText | null>,
  now: number,
): Promise<boolean> {
  const before = await findFact(tx, key, 'profile')
  const fields = new Map(before === null ? ownersOf(key) : members(before))
  if ([...attributes].every(([name, value]) => (fields.get(name) ?? null) === value)) return false
  for (const [name, value] of attributes) {
    if (value === null) fields.delete(name)
    else fields.set(name, value)
  }
  fields.set('fetched_at', stringText(new Date(now).toISOString()))
  fields.set('fetch_error', known('null'))
  await putFact(tx, key, 'profile', object([...fields]), now)
  return true
}
