/**
 * What becomes of a program's password after a person proved to be the creator that the program had named. The person
 * never shares an actor with the program unasked, and the password works until the person decides (docs/decisions/024).
 */
import { setPassphrase } from '../actor/actor-store.ts'
import type { Caller } from '../caller.ts'
import { ServiceError } from '../errors.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import { actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import type { Store } from '../store/store.ts'
import { unprovenPrefix } from './account-store.ts'
import {
  endSessionsOf,
  findOnePasswordAccess,
  findPasswordAccess,
  findPasswordName,
  type PasswordAccessRecord,
  setPasswordDecision,
} from './password-access-store.ts'

export type { PasswordAccessRecord, PasswordDecision } from './password-access-store.ts'

/** A stranger can create any number of actors under one creator; the owner decides about these first. */
export const mostProgramsListed = 100

export interface PasswordAccessDecision {
  readonly ownerId: string
  /** The actor that the program created. */
  readonly actorId: string
  readonly decision: 'kept' | 'revoked'
  readonly by: Caller
}

export class PasswordAccess {
  readonly #store: Store
  readonly #keyRing: KeyRing
  readonly #now: () => number

  constructor({ store, keyRing, now }: { store: Store; keyRing: KeyRing; now: () => number }) {
    this.#store = store
    this.#keyRing = keyRing
    this.#now = now
  }

  /** At most 100 actors, pending decisions first. */
  list(ownerId: string): Promise<PasswordAccessRecord[]> {
    return this.#store.read((q) => findPasswordAccess(q, ownerId, mostProgramsListed))
  }

  /** The former creator of an actor, which Basic credentials may name beside the present one. */
  async nameOf(actor: { readonly id: string; readonly creator: string }): Promise<string | null> {
    if (!actor.creator.startsWith(unprovenPrefix)) return null
    return this.#store.read((q) => findPasswordName(q, actor.id))
  }

  /**
   * Revoking replaces the passphrase of the actor with one that no program has, and ends the sessions that began with
   * the old one. Revoking twice changes nothing more.
   *
   * @throws ServiceError `not_found` when the actor is none that this owner decides about, `forbidden` without a session
   *   of the owner, `conflict` when a revoked password is to be kept.
   */
  async decide({ ownerId, actorId, decision, by }: PasswordAccessDecision): Promise<void> {
    const known = await this.#store.read((q) => findOnePasswordAccess(q, ownerId, actorId))
    if (known === null) throw unknownAccess()
    // In an actor that the owner joined, the program itself has the passphrase of the owner.
    if (by.kind !== 'creator' || by.session === undefined) {
      throw new ServiceError('forbidden', 'Cannot decide this with a passphrase: sign in as the owner first', {
        reason: 'a session is needed',
      })
    }
    await this.#store.writeActor(actorId, async (tx) => {
      const found = await findOnePasswordAccess(tx, ownerId, actorId)
      if (found === null) throw unknownAccess()
      if (found.decision === decision) return
      if (found.decision === 'revoked')
        throw new ServiceError('conflict', 'Cannot keep this access: the password was revoked for good')
      if (decision === 'revoked') {
        await setPassphrase(tx, actorId, seal(this.#keyRing, randomPassphrase(), bindingOf(actorPassphrase, actorId)))
        // In the owner's own actor, the other sessions are those of the owner.
        await endSessionsOf(tx, actorId, actorId === ownerId ? 'passphrase' : null)
      }
      await setPasswordDecision(tx, { actorId, decision, now: this.#now() })
    })
  }
}

function unknownAccess(): ServiceError {
  return new ServiceError('not_found', 'There is no account that a program created under your name at this id')
}
