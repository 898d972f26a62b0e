/** Effects of a changed value: look-up entries of indexed properties, and the creator when it follows the e-mail address. */
import { personKind } from '../app/kinds/person.ts'
import { findActorKind, isCreatorFree, setCreator } from './actor-store.ts'
import { normalizeCreator } from './actor.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, stringValue } from '../json/json.ts'
import type { Transaction } from '../store/store.ts'
import { replaceLookups } from './lookup.ts'

export interface IndexPolicy {
  readonly indexedProperties: ReadonlySet<string>
  readonly forceEmailAsCreator: boolean
  readonly uniqueCreator: boolean
  /** Called when an indexed value already belongs to another actor. */
  readonly onCollision: (actorId: string, name: string) => void
}

export class Indexes {
  readonly #policy: IndexPolicy

  constructor(policy: IndexPolicy) {
    this.#policy = policy
  }

  /** Whether a change of the property has effects here. */
  follows(name: string): boolean {
    const { indexedProperties, forceEmailAsCreator } = this.#policy
    return indexedProperties.has(name) || (forceEmailAsCreator && name === 'email')
  }

  /** Applies the values that changed in this transaction. Null: the value was deleted. */
  async update(tx: Transaction, actorId: string, values: ReadonlyMap<string, JsonText | null>): Promise<void> {
    const { indexedProperties, forceEmailAsCreator, onCollision } = this.#policy
    const indexed = new Map<string, JsonText | null>()
    for (const [name, value] of values) if (indexedProperties.has(name)) indexed.set(name, value)
    if (indexed.size > 0) for (const name of await replaceLookups(tx, actorId, indexed)) onCollision(actorId, name)
    const email = forceEmailAsCreator ? values.get('email') : undefined
    // The owner of an address signs in to the actor that has it as its creator.
    if (email !== undefined && email !== null && (await findActorKind(tx, actorId)) === personKind)
      await this.#renameCreator(tx, actorId, email)
  }

  async #renameCreator(tx: Transaction, actorId: string, email: JsonText): Promise<void> {
    const creator = normalizeCreator(stringValue(email) ?? '')
    if (!creator.includes('@'))
      throw new ServiceError('invalid_value', 'Cannot set "email": the creator must be an e-mail address')
    if (this.#policy.uniqueCreator && !(await isCreatorFree(tx, creator, actorId))) {
      throw new ServiceError('conflict', 'Cannot set "email": another actor has this creator')
    }
    await setCreator(tx, actorId, creator)
  }
}
