/** What a changed value moves besides itself: the look-up entries of indexed names, and the creator where it is the e-mail address. */
import { claimCreator, findActorByCreator, setCreator } from './actor-store.ts'
import { normaliseCreator } from './actor.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, stringValue } from '../json/json.ts'
import type { Transaction } from '../store/store.ts'
import { replaceLookups } from './lookup.ts'

export interface IndexPolicy {
  readonly indexedProperties: ReadonlySet<string>
  readonly forceEmailAsCreator: boolean
  readonly uniqueCreator: boolean
  /** Told when an indexed value belongs to another actor already. */
  readonly onCollision: (actorId: string, name: string) => void
}

export class Indexes {
  readonly #policy: IndexPolicy

  constructor(policy: IndexPolicy) {
    this.#policy = policy
  }

  /** Values that changed in this transaction; null for those that are gone. */
  async update(tx: Transaction, actorId: string, values: ReadonlyMap<string, JsonText | null>): Promise<void> {
    const { indexedProperties, forceEmailAsCreator, onCollision } = this.#policy
    const indexed = new Map<string, JsonText | null>()
    for (const [name, value] of values) if (indexedProperties.has(name)) indexed.set(name, value)
    if (indexed.size > 0) for (const name of await replaceLookups(tx, actorId, indexed)) onCollision(actorId, name)
    const email = forceEmailAsCreator ? values.get('email') : undefined
    if (email !== undefined && email !== null) await this.#renameCreator(tx, actorId, email)
  }

  async #renameCreator(tx: Transaction, actorId: string, email: JsonText): Promise<void> {
    const creator = normaliseCreator(stringValue(email) ?? '')
    if (!creator.includes('@'))
      throw new ServiceError('invalid_value', 'Cannot set "email": the creator has to be an e-mail address')
    if (this.#policy.uniqueCreator && !(await this.#isFree(tx, creator, actorId))) {
      throw new ServiceError('conflict', 'Cannot set "email": another actor has this creator')
    }
    await setCreator(tx, actorId, creator)
  }

  /** Actors from before creators had to be unique hold no claim. */
  async #isFree(tx: Transaction, creator: string, actorId: string): Promise<boolean> {
    const holder = await findActorByCreator(tx, creator)
    return (holder === null || holder.id === actorId) && claimCreator(tx, creator, actorId)
  }
}
