/**
 * Password access: a program created an actor under a creator that a person proved later. The person never shares an
 * actor with the program without consent, and the password works until the person decides (docs/decisions/024).
 */
import { formerCreatorOf } from '../actor/creator-store.ts'
import { replacePassphrase } from '../actor/passphrases.ts'
import type { Caller } from '../caller.ts'
import { ServiceError } from '../errors.ts'
import type { Live } from '../live/live.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Queries, Store } from '../store/store.ts'
import {
  endSessionsOf,
  findOnePasswordAccess,
  findPasswordAccess,
  findProvenCreator,
  hasPendingAccess,
  hasPasswordName,
  type PasswordAccessRecord,
  setPasswordDecision,
} from './password-access-store.ts'

export type { PasswordAccessRecord, PasswordDecision } from './password-access-store.ts'

/** Maximum list length, because a stranger can create any number of actors under one creator. */
export const maxProgramsListed = 100

export interface PasswordAccessDecision {
  readonly ownerId: string
  /** The actor that the program created. */
  readonly actorId: string
  readonly decision: 'kept' | 'revoked'
  readonly by: Caller
}

interface PasswordAccessDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly live: Pick<Live, 'announce'>
}

export class PasswordAccess {
  readonly #store: Store
  readonly #keyRing: KeyRing
  readonly #now: () => number
  readonly #live: Pick<Live, 'announce'>

  constructor({ store, keyRing, now, live }: PasswordAccessDeps) {
    this.#store = store
    this.#live = live
    this.#keyRing = keyRing
    this.#now = now
  }

  /** Lists at most 100 actors: the own one, and then pending decisions first. */
  list(ownerId: string): Promise<PasswordAccessRecord[]> {
    return this.#store.read(async (q) => {
      const creator = await findProvenCreator(q, ownerId)
      return creator === null ? [] : findPasswordAccess(q, { creator, ownerId }, maxProgramsListed)
    })
  }

  /** Returns whether the owner still has to decide about a program. */
  hasPending(ownerId: string): Promise<boolean> {
    return this.#store.read(async (q) => {
      const creator = await findProvenCreator(q, ownerId)
      return creator !== null && hasPendingAccess(q, creator)
    })
  }

  /** Returns the former creator of an actor, which Basic credentials may name besides the current creator. */
  nameOf(actor: { readonly id: string; readonly creator: string }): Promise<string | null> | null {
    const former = formerCreatorOf(actor)
    if (former === null) return null
    return this.#store.read((q) => hasPasswordName(q, former, actor.id)).then((isKnown) => (isKnown ? former : null))
  }

  /**
   * Keeps or revokes a password. Revoking replaces the actor's passphrase with a random one and ends the sessions that
   * began with the old one. Revoking twice has no further effect.
   *
   * @throws ServiceError `not_found` when this owner cannot decide about the actor, `forbidden` without a session of the
   *   owner, `conflict` for keeping a revoked password.
   */
  async decide({ ownerId, actorId, decision, by }: PasswordAccessDecision): Promise<void> {
    const find = async (q: Queries): Promise<PasswordAccessRecord | null> => {
      const creator = await findProvenCreator(q, ownerId)
      return creator === null ? null : findOnePasswordAccess(q, creator, actorId)
    }
    const known = await this.#store.read(find)
    if (known === null) throw unknownAccess()
    // A session is required: in an actor that the owner joined, the program knows the same passphrase.
    if (by.kind !== 'creator' || by.session === undefined) {
      throw new ServiceError('forbidden', 'Cannot decide this with a passphrase: sign in as the owner first', {
        reason: 'a session is needed',
      })
    }
    await this.#store.writeActor(actorId, async (tx) => {
      const found = await find(tx)
      if (found === null) throw unknownAccess()
      if (found.decision === decision) return
      if (found.decision === 'revoked')
        throw new ServiceError('conflict', 'Cannot keep this access: the password was permanently revoked')
      if (decision === 'revoked') {
        await replacePassphrase(tx, this.#keyRing, actorId)
        // In a joined actor, sessions that began otherwise belong to the owner.
        await endSessionsOf(tx, actorId, actorId === ownerId ? 'passphrase' : null)
      }
      await setPasswordDecision(tx, { creator: found.creator, actorId, decision, now: this.#now() })
    })
    await this.#live.announce(ownerId, 'sessions', actorId)
  }
}

function unknownAccess(): ServiceError {
  return new ServiceError('not_found', 'Cannot decide about this account: no program created it under your name')
}
