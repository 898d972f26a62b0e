/**
 * The embedding program as an identity provider: a sign-in goes to `/oauth/host`, where the session of the program identifies
 * the person. Each kind of sign-in therefore keeps its state, its limits and its consent.
 */
import { type Address, parseAddress } from '../../actor/address.ts'
import type { HostUser } from '../../app/embedding/authenticate.ts'
import { OwnCodes, type OwnCodesDeps, type OwnSignIn } from '../own/own-codes.ts'
import {
  type CodeExchange,
  type Person,
  type Provider,
  type ProviderAuthorization,
  ProviderError,
} from '../provider.ts'
import { SignInRefusal } from '../refusal.ts'

/** Name and kind of the provider. */
export const hostProviderName = 'host'

/** The path that asks the embedding program, below the service's prefix. */
export const hostPath = '/oauth/host'

export interface HostProviderDeps extends OwnCodesDeps {
  /** Shown on the sign-in page. */
  readonly displayName: string
  /** The sign-in page of the embedding program, with `{return}`. Null: none. */
  readonly signInUrl: string | null
}

export class HostProvider implements Provider {
  readonly name = hostProviderName
  readonly kind = hostProviderName
  readonly responseMode = 'query'
  readonly platform = 'web'
  readonly deepLink = null
  readonly tokenEndpoint = ''
  readonly userinfoEndpoint = ''
  readonly takesAssertions = false
  readonly displayName: string
  readonly redirectUri: string
  readonly authorizationEndpoint: string
  readonly #deps: HostProviderDeps
  readonly #codes: OwnCodes<HostUser>

  constructor(deps: HostProviderDeps) {
    this.#deps = deps
    this.#codes = new OwnCodes(hostProviderName, deps)
    this.displayName = deps.displayName
    this.redirectUri = `${deps.baseUrl}/oauth/callback`
    // The content security policy of forms allows the origin to which the sign-in leads.
    this.authorizationEndpoint = this.signInPage(deps.baseUrl) ?? `${deps.baseUrl}${hostPath}`
  }

  authorizationUrl({ state, codeChallenge }: ProviderAuthorization): Promise<string> {
    return Promise.resolve(this.#url(hostPath, { state, code_challenge: codeChallenge ?? '' }))
  }

  /**
   * Returns the sign-in page of the embedding program, which sends the browser back. The return says that the user was there,
   * so that a program that still knows no user does not send the browser around forever. Null: the program has no page.
   */
  signInPageFor(query: { readonly state: string; readonly code_challenge: string }): string | null {
    return this.signInPage(this.#url(hostPath, { ...query, returned: '1' }))
  }

  signInPage(back: string): string | null {
    const { signInUrl, baseUrl } = this.#deps
    return signInUrl === null
      ? null
      : new URL(signInUrl.replaceAll('{return}', encodeURIComponent(back)), `${baseUrl}/`).href
  }

  /** @returns the URL of the callback, with a code that is valid once and only in this sign-in. */
  callbackUrl(user: HostUser, signIn: OwnSignIn): Promise<string> {
    return this.#codes.callbackUrl(user, signIn)
  }

  async exchange(exchange: CodeExchange): Promise<Person> {
    const address = verifiedAddress(await this.#codes.redeem(exchange))
    return { stableId: `${hostProviderName}:${address}`, userInfo: { email: address }, tokens: null, address }
  }

  verifyAssertion(): Promise<never> {
    return Promise.reject(new ProviderError('assertion', 'The embedding program signs no assertions'))
  }

  #url(path: string, query: Record<string, string>): string {
    return `${this.#deps.baseUrl}${path}?${new URLSearchParams(query).toString()}`
  }
}

/** @throws SignInRefusal for an address that is not verified or not valid. */
function verifiedAddress({ email, verified }: HostUser): Address {
  if (!verified) throw new SignInRefusal('address_unverified')
  const address = parseAddress(email)
  if (address === null) throw new SignInRefusal('address_invalid')
  return address
}
