/** Sign-in of native applications, which redeem a code, a ticket or a provider's assertion for tokens (WIRE-SIGNIN-04). */
import { ServiceError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { Beginning, IssuedTokens } from '../token/chain.ts'
import type { OneTime } from '../token/one-time.ts'
import type { SignInAttempt, SessionEntry } from './establish-session.ts'
import type { Provider, Providers } from './provider.ts'
import { askProvider, SignInRefusal } from './refusal.ts'
import type { Tickets } from './tickets.ts'

export interface NativeDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly providers: Providers
  readonly tickets: Tickets
  readonly entry: SessionEntry
}

export interface PresentedCode {
  /** Name of the provider. Default: the first configured provider. */
  readonly provider: string | undefined
  readonly code: string
  /** The `redirect_uri` of the authorization request. Default: the provider's `redirectUri`. */
  readonly redirectUri: string | undefined
  readonly codeVerifier: string | undefined
  readonly device: string
}

export interface PresentedAssertion {
  readonly provider: string
  readonly assertion: string
  readonly nonce: string
  readonly device: string
}

/** Redeems proofs of native applications. Every method throws ServiceError `bad_request` or SignInRefusal. */
export class Native {
  readonly #deps: NativeDeps

  constructor(deps: NativeDeps) {
    this.#deps = deps
  }

  async redeemCode({ provider: name, code, redirectUri, codeVerifier, device }: PresentedCode): Promise<IssuedTokens> {
    const provider = requireProvider(this.#deps.providers, name)
    if (codeVerifier === undefined && needsVerifier(provider, redirectUri)) {
      throw new ServiceError('bad_request', 'invalid_request: code_verifier is missing')
    }
    const person = await askProvider(
      provider.exchange({
        code,
        codeVerifier: codeVerifier ?? null,
        nonce: null,
        redirectUri,
      }),
    )
    const beganWith = provider.platform === 'any' ? 'mobile' : 'spa'
    return this.#enter({ person, provider: provider.kind, device, beganWith })
  }

  async redeemTicket(ticket: string, codeVerifier: string | undefined, device: string): Promise<IssuedTokens> {
    const redeemed = await this.#deps.tickets.redeem(ticket, codeVerifier)
    return this.#enter({ ...redeemed, device, beganWith: 'mobile' satisfies Beginning })
  }

  /** Redeems an assertion, which is valid once: it is marked as used before the sign-in. */
  async redeemAssertion({ provider: name, assertion, nonce, device }: PresentedAssertion): Promise<IssuedTokens> {
    const { store, oneTime, providers } = this.#deps
    const provider = requireProvider(providers, name)
    if (!provider.takesAssertions) {
      throw new ServiceError('bad_request', `invalid_request: the provider ${provider.name} accepts no assertions`)
    }
    const { person, fingerprint, until } = await askProvider(provider.verifyAssertion(assertion, nonce))
    const isFirst = await store.write((tx) => oneTime.markSeen(tx, { purpose: 'assertion', fingerprint, until }))
    if (!isFirst) throw new ServiceError('bad_request', 'invalid_grant: the assertion was already used')
    return this.#enter({ person, provider: provider.kind, device, beganWith: 'native', assertion })
  }

  async #enter(attempt: SignInAttempt): Promise<IssuedTokens> {
    const entering = await this.#deps.entry.enter(attempt)
    if (entering.kind !== 'entered') throw new SignInRefusal('no_address')
    return entering.tokens
  }
}

/** @throws ServiceError `bad_request` */
export function requireProvider(providers: Providers, name: string | undefined): Provider {
  const provider = name === undefined ? (providers.all[0] ?? null) : providers.find(name)
  if (provider === null) {
    throw new ServiceError(
      'bad_request',
      name === undefined ? 'Cannot sign in: no provider is configured' : 'invalid_request: the provider is unknown',
    )
  }
  return provider
}

/** A custom scheme needs PKCE: another application on the device can register it and receive the code (RFC 8252 section 6). */
function needsVerifier({ name }: Provider, redirectUri: string | undefined): boolean {
  return /-(mobile|native)$/.test(name) || (redirectUri !== undefined && !/^https?:/i.test(redirectUri))
}
