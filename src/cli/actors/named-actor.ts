/** Finds the actor that a command names: by its id, or by its creator. */
import { findActor, findActorByCreator } from '../../actor/actor-store.ts'
import { normalizeCreator, parseActorId } from '../../actor/actor.ts'
import type { Queries } from '../../store/store.ts'

/** Returns the id of the actor. Null: no actor has the id or the creator. Of several with one creator, the oldest counts. */
export async function namedActor(q: Queries, text: string): Promise<string | null> {
  const byId = parseActorId(text) === null ? null : await findActor(q, text)
  return (byId ?? (await findActorByCreator(q, normalizeCreator(text))))?.id ?? null
}
