/**
 * Passkeys as an identity provider of the service itself: a sign-in goes to the page `/oauth/passkey`, and comes back with a code.
 * Each kind of sign-in therefore keeps its state, its limits and its consent.
 */
import type { Transaction } from '../../store/store.ts'
import { passkeyPlan } from '../own/own-plans.ts'
import { OwnProvider, type OwnProviderDeps } from '../own/own-provider.ts'
import type { Person } from '../provider.ts'
import { passkeyIdentifier } from './names.ts'
import type { Passkeys } from './passkeys.ts'
import type { CreatedPasskey } from './webauthn.ts'

/** The path of the page, below the service's prefix. */
const path = '/oauth/passkey'

/** The proof that the page hands to the callback. */
export type PasskeyProof =
  | { readonly kind: 'owner'; readonly actorId: string }
  | {
      readonly kind: 'new'
      readonly actorId: string
      /** The name that the person typed. */
      readonly name: string
      readonly created: CreatedPasskey
      readonly passkeyName: string
      /** The recovery codes that the person has seen. */
      readonly codes: readonly string[]
    }

export interface PasskeyProviderDeps extends OwnProviderDeps {
  readonly passkeys: Pick<Passkeys, 'insertFirst'>
  /** True when no provider is configured. */
  readonly isDefault: boolean
}

export class PasskeyProvider extends OwnProvider<PasskeyProof> {
  readonly isDefault: boolean
  readonly #passkeys: PasskeyProviderDeps['passkeys']

  constructor(deps: PasskeyProviderDeps) {
    super({ ...passkeyPlan, path }, deps)
    this.isDefault = deps.isDefault
    this.#passkeys = deps.passkeys
  }

  protected override personOf(proof: PasskeyProof): Person {
    const identifier = passkeyIdentifier(proof.actorId)
    return {
      stableId: identifier,
      userInfo: proof.kind === 'new' ? { sub: proof.actorId, name: proof.name } : { sub: proof.actorId },
      tokens: null,
      address: null,
      own: {
        actorId: proof.actorId,
        newAccount:
          proof.kind === 'owner'
            ? null
            : { name: proof.name, identifier, store: (tx: Transaction) => this.#store(tx, proof) },
      },
    }
  }

  #store(
    tx: Transaction,
    { actorId, created, passkeyName, codes }: Extract<PasskeyProof, { readonly kind: 'new' }>,
  ): Promise<void> {
    return this.#passkeys.insertFirst(tx, actorId, { created, name: passkeyName, codes })
  }
}
