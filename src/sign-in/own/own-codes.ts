/**
 * Codes of sign-ins without another service: the service itself authenticates the person, and sends the browser to the callback
 * with a code, as a provider does.
 */
import { sameSecret } from '../../secret/hash.ts'
import type { Store } from '../../store/store.ts'
import { lifetimes, type OneTime } from '../../token/one-time.ts'
import { type CodeExchange, ProviderError } from '../provider.ts'
import { type Begun, challengeOf } from '../states.ts'

export interface OwnCodesDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly baseUrl: string
}

/** The sign-in in which a code is valid. */
export interface OwnSignIn {
  readonly state: string
  /** The nonce and the S256 challenge of the sign-in, so that the code is valid in no other one. */
  readonly nonce: string
  readonly codeChallenge: string
  /** True for an application, which may redeem the code later, by a ticket. */
  readonly isForApplication: boolean
}

/** Returns the sign-in that a browser continues at a page of this service. */
export function ownSignInOf(begun: Begun, at: Pick<OwnSignIn, 'state' | 'codeChallenge'>): OwnSignIn {
  const { state, codeChallenge } = at
  return { state, codeChallenge, nonce: begun.nonce, isForApplication: begun.flow.kind === 'spa' }
}

interface OwnCode<T> extends Pick<OwnSignIn, 'nonce' | 'codeChallenge'> {
  readonly proof: T
}

/** @typeParam T JSON: what the provider found out about the person. */
export class OwnCodes<T extends object> {
  readonly #provider: string
  readonly #deps: OwnCodesDeps

  /** @param provider Name of the provider whose codes these are. */
  constructor(provider: string, deps: OwnCodesDeps) {
    this.#provider = provider
    this.#deps = deps
  }

  /**
   * Stores the proof.
   *
   * @param browserSeconds Time until the browser arrives at the callback. Default: one minute, for a browser that continues
   *   immediately. A ticket is issued there, and its code lives as long as the ticket.
   * @returns the URL of the callback with a code, which is valid once.
   */
  async callbackUrl(
    proof: T,
    { state, nonce, codeChallenge, isForApplication }: OwnSignIn,
    browserSeconds = lifetimes.own_code,
  ): Promise<string> {
    const { store, oneTime, baseUrl } = this.#deps
    const data: OwnCode<T> = { proof, nonce, codeChallenge }
    const lifetimeSeconds = browserSeconds + (isForApplication ? lifetimes.ticket : 0)
    const code = await store.write((tx) =>
      oneTime.create(tx, { purpose: 'own_code', provider: this.#provider, data, lifetimeSeconds }),
    )
    return `${baseUrl}/oauth/callback?${new URLSearchParams({ state, code }).toString()}`
  }

  /** @throws ProviderError `exchange` for a code that is unknown, expired, used, or of another sign-in. */
  async redeem({ code, codeVerifier, nonce }: CodeExchange): Promise<T> {
    const { store, oneTime } = this.#deps
    const presented = { purpose: 'own_code', provider: this.#provider, value: code } as const
    const found = await store.write((tx) => oneTime.consume<OwnCode<T>>(tx, presented))
    const isOfThis =
      found !== null &&
      nonce !== null &&
      codeVerifier !== null &&
      sameSecret(found.data.nonce, nonce) &&
      sameSecret(found.data.codeChallenge, challengeOf(codeVerifier))
    if (!isOfThis) throw new ProviderError('exchange', 'The code is unknown, expired, or of another sign-in')
    return found.data.proof
  }
}
