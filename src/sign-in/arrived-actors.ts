/** Actors that came from another service: a person takes one by a code of the old service, and signs in to it from then on. */
import { findActorKind, isCreatorFree, setCreator } from '../actor/actor-store.ts'
import { requirePerson } from '../app/kinds/person.ts'
import { hashSecret } from '../secret/hash.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import { LostRace } from './lost-race.ts'
import { SignInRefusal } from './refusal.ts'

/** The actor that a person takes. */
export interface ClaimedActor {
  readonly actorId: string
  /** Keys of what the person keeps of it (`moving/arrived-readers.ts`). */
  readonly kept: readonly string[]
}

export interface ArrivedActorsDeps {
  readonly store: Pick<Store, 'read'>
  readonly uniqueCreator: boolean
  /** Ends the code of the actor and what its owner does not keep, and begins its work. False: the code was used before. */
  readonly takeArrival: (tx: Transaction, actorId: string, kept: readonly string[]) => Promise<boolean>
}

export class ArrivedActors {
  readonly #deps: ArrivedActorsDeps

  constructor(deps: ArrivedActorsDeps) {
    this.#deps = deps
  }

  /** Whether the actor is here, and the code takes it. */
  isCode(actorId: string, code: string): Promise<boolean> {
    return this.#deps.store.read((q) => hasCode(q, actorId, code))
  }

  /**
   * Gives the actor to the person who signs in.
   *
   * @throws SignInRefusal when another person has taken it meanwhile, or another actor has the name; ServiceError `forbidden` for
   *   an actor that is of no person.
   */
  async take(tx: Transaction, { actorId, kept }: ClaimedActor, creator: string): Promise<void> {
    requirePerson(await findActorKind(tx, actorId))
    if (!(await this.#deps.takeArrival(tx, actorId, kept))) throw new SignInRefusal('already_taken')
    if (this.#deps.uniqueCreator && !(await isCreatorFree(tx, creator, actorId))) throw new LostRace()
    await setCreator(tx, actorId, creator)
  }
}

async function hasCode(q: Queries, actorId: string, code: string): Promise<boolean> {
  const row = await q.get(
    `SELECT 1 AS found FROM arrival WHERE actor_id = $1 AND claim_hash = $2 AND state = 'here'`,
    actorId,
    hashSecret(code),
  )
  return row !== undefined
}
