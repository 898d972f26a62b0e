/** Reads all actors in pages, so that the memory and the length of a statement do not grow with their number. */
import { ServiceError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { type ActorPlace, findActorsAfter, type ListedActor, type PlacedActor } from './actor-store.ts'
import { parseActorId } from './actor.ts'

export interface AllActors {
  /** Only actors that were created after this time. Default: all. */
  readonly createdAfter?: Date | undefined
  /** Number of actors that are read at once, 1 to 1000. Default: 100. */
  readonly pageSize?: number | undefined
}

export const maxPerPage = 1000
const defaultPageSize = 100

/**
 * Yields each actor once, oldest first. The pages begin after the last actor of the page before, so creations and deletions
 * in between move no other actor. The last actors are those of the time of the call: a loop whose body creates actors ends.
 */
export async function* allActors(
  { store, now }: { readonly store: Pick<Store, 'read'>; readonly now: () => number },
  { createdAfter, pageSize = defaultPageSize }: AllActors,
): AsyncGenerator<PlacedActor, void> {
  requirePageSize(pageSize)
  let after = placeAfter(createdAfter)
  const until = now()
  for (;;) {
    const from = after
    const page = await store.read((q) => findActorsAfter(q, from, until, pageSize))
    yield* page.filter(isOfPerson)
    const last = page.at(-1)
    if (last === undefined || page.length < pageSize) return
    after = last
  }
}

/** Actors of the service itself have ids that are not valid actor ids. */
export function isOfPerson({ id }: Pick<ListedActor, 'id'>): boolean {
  return parseActorId(id) !== null
}

/** @throws ServiceError `bad_request` for an invalid date. */
export function placeAfter(time: Date | undefined): ActorPlace {
  if (time === undefined) return { createdAt: -1, id: '' }
  const createdAt = time.getTime() + 1
  if (!Number.isFinite(createdAt))
    throw new ServiceError('bad_request', 'Cannot list actors: createdAfter is not a valid date')
  return { createdAt, id: '' }
}

function requirePageSize(size: number): void {
  if (!Number.isInteger(size) || size < 1 || size > maxPerPage)
    throw new ServiceError('bad_request', `Cannot list actors: pageSize must be a whole number from 1 to ${maxPerPage}`)
}
