/** Writes of sign-ins, which also an actor takes that is on the way to another service (docs/decisions/112). */
import { lockResident, type Resident } from './actor-store.ts'
import { ServiceError } from '../errors.ts'
import type { Store, Transaction } from '../store/store.ts'

/**
 * Like `Store.writeActor`, also for an actor that moves or has moved: its owner signs in to find the link to it.
 *
 * @throws ServiceError `actor_not_found` when no actor has the id, or it has not arrived.
 */
export function writeOwner<T>(
  store: Pick<Store, 'write'>,
  actorId: string,
  work: (tx: Transaction, actor: Resident) => Promise<T>,
): Promise<T> {
  return store.write(async (tx) => {
    const actor = await lockResident(tx, actorId)
    if (actor === null || actor.residence === 'arriving') throw new ServiceError('actor_not_found')
    return work(tx, actor)
  })
}
