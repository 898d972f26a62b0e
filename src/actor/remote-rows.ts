/**
 * Rows of an actor that another key finds. On a plain database foreign keys delete them with the actor. A sharded database
 * has them on other servers, so each one is deleted by its key, which the rows of the actor contain.
 */
import type { Transaction } from '../store/store.ts'
import { formerCreatorOf } from './creator-store.ts'
import { deleteAllLookups } from './lookup.ts'

/**
 * Deletes look-ups, identities and password access of an actor, and records its lists for deletion. `DeletedOwners` deletes
 * its tokens, one-time records and clients.
 */
export async function deleteRemoteRows(tx: Transaction, actorId: string): Promise<void> {
  await deleteAllLookups(tx, actorId)
  const account = await tx.get<{ identifier: string; subject: string | null }>(
    'SELECT identifier, subject FROM account WHERE actor_id = $1',
    actorId,
  )
  for (const [name, kind] of [
    [account?.identifier, 'identifier'],
    [account?.subject, 'subject'],
  ] as const) {
    if (typeof name === 'string')
      await tx.run('DELETE FROM identity WHERE name = $1 AND kind = $2 AND actor_id = $3', name, kind, actorId)
  }
  const actor = await tx.get<{ creator: string }>('SELECT creator FROM actor WHERE id = $1', actorId)
  const creators = actor === undefined ? [] : [actor.creator, formerCreatorOf({ id: actorId, ...actor })]
  for (const creator of creators.filter((name) => name !== null))
    await tx.run('DELETE FROM password_access WHERE creator = $1 AND actor_id = $2', creator, actorId)
  await removeLists(tx, actorId, null)
}

/**
 * Records lists for the deletion of their rows in the background, as a trigger does on a plain database.
 *
 * @param names Null: all lists of the actor. Names of values are ignored.
 */
export async function removeLists(tx: Transaction, actorId: string, names: readonly string[] | null): Promise<void> {
  await tx.run(
    `INSERT INTO removed_list (actor_id, list, next_item, last_item, last_node)
     SELECT p.actor_id, p.name, 1,
       COALESCE((SELECT max(i.item) FROM list_item i WHERE i.actor_id = $1 AND i.list = p.name), 0),
       COALESCE((SELECT max(n.node) FROM list_node n WHERE n.actor_id = $1 AND n.list = p.name), 0)
     FROM property p WHERE p.actor_id = $1 AND p.kind = 'list'
       ${names === null ? '' : 'AND p.name IN (SELECT name FROM rows($2, name TEXT) AS removed)'}
     ON CONFLICT (actor_id, list) DO UPDATE SET
       last_item = CASE WHEN removed_list.last_item < excluded.last_item THEN excluded.last_item ELSE removed_list.last_item END,
       last_node = CASE WHEN removed_list.last_node < excluded.last_node THEN excluded.last_node ELSE removed_list.last_node END`,
    actorId,
    ...(names === null ? [] : [JSON.stringify(names.map((name) => [name]))]),
  )
}
