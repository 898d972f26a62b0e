/**
 * Passkeys as an identity provider of the service itself: a sign-in goes to the page `/oauth/passkey`, and comes back with a code.
 * Each kind of sign-in therefore keeps its state, its limits and its consent.
 */
import type { Transaction } from '../../store/store.ts'
import { OwnCodes, type OwnCodesDeps, type OwnSignIn } from '../own/own-codes.ts'
import {
  type CodeExchange,
  type Person,
  type Provider,
  type ProviderAuthorization,
  ProviderError,
} from '../provider.ts'
import { passkeyDisplayName, passkeyIdentifier, passkeyProviderName } from './names.ts'
import type { Passkeys } from './passkeys.ts'
import type { CreatedPasskey } from './webauthn.ts'

/** The path of the page, below the service's prefix. */
export const passkeyPath = '/oauth/passkey'

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

export interface PasskeyProviderDeps extends OwnCodesDeps {
  readonly passkeys: Pick<Passkeys, 'insertFirst'>
  /** True when no provider is configured. */
  readonly isDefault: boolean
}

export class PasskeyProvider implements Provider {
  readonly name = passkeyProviderName
  readonly kind = passkeyProviderName
  readonly displayName = passkeyDisplayName
  readonly responseMode = 'query'
  readonly platform = 'web'
  readonly deepLink = null
  readonly tokenEndpoint = ''
  readonly userinfoEndpoint = ''
  readonly takesAssertions = false
  readonly isDefault: boolean
  readonly redirectUri: string
  readonly authorizationEndpoint: string
  readonly #passkeys: PasskeyProviderDeps['passkeys']
  readonly #codes: OwnCodes<PasskeyProof>

  constructor(deps: PasskeyProviderDeps) {
    this.redirectUri = `${deps.baseUrl}/oauth/callback`
    this.authorizationEndpoint = `${deps.baseUrl}${passkeyPath}`
    this.isDefault = deps.isDefault
    this.#passkeys = deps.passkeys
    this.#codes = new OwnCodes(passkeyProviderName, deps)
  }

  authorizationUrl({ state, codeChallenge }: ProviderAuthorization): Promise<string> {
    const query = new URLSearchParams({ state, code_challenge: codeChallenge ?? '' })
    return Promise.resolve(`${this.authorizationEndpoint}?${query.toString()}`)
  }

  /** @param lifetimeSeconds Default: one minute. */
  callbackUrl(proof: PasskeyProof, signIn: OwnSignIn, lifetimeSeconds?: number): Promise<string> {
    return this.#codes.callbackUrl(proof, signIn, lifetimeSeconds)
  }

  async exchange(exchange: CodeExchange): Promise<Person> {
    const proof = await this.#codes.redeem(exchange)
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

  verifyAssertion(): Promise<never> {
    return Promise.reject(new ProviderError('assertion', 'The service signs no assertions for passkeys'))
  }

  #store(
    tx: Transaction,
    { actorId, created, passkeyName, codes }: Extract<PasskeyProof, { readonly kind: 'new' }>,
  ): Promise<void> {
    return this.#passkeys.insertFirst(tx, actorId, { created, name: passkeyName, codes })
  }
}
