/** Email links as an identity provider of the service itself: a sign-in goes to the page `/oauth/email-link`. */
import { parseAddress } from '../../actor/address.ts'
import { OwnCodes, type OwnCodesDeps, type OwnSignIn } from '../own/own-codes.ts'
import { emailLinkPlan } from '../own/own-plans.ts'
import {
  type CodeExchange,
  type Person,
  type Provider,
  type ProviderAuthorization,
  ProviderError,
} from '../provider.ts'
import { emailLinkName } from './names.ts'

/** The path of the page, below the service's prefix. */
export const emailLinkPath = '/oauth/email-link'

/** The address that the person proved. */
export interface AddressProof {
  readonly address: string
}

export class EmailLinkProvider implements Provider {
  readonly name = emailLinkName
  readonly kind = emailLinkName
  readonly displayName = emailLinkPlan.displayName
  readonly responseMode = 'query'
  readonly platform = 'web'
  readonly deepLink = null
  readonly tokenEndpoint = ''
  readonly userinfoEndpoint = ''
  readonly takesAssertions = false
  readonly redirectUri: string
  readonly authorizationEndpoint: string
  readonly #codes: OwnCodes<AddressProof>

  constructor(deps: OwnCodesDeps) {
    this.redirectUri = `${deps.baseUrl}/oauth/callback`
    this.authorizationEndpoint = `${deps.baseUrl}${emailLinkPath}`
    this.#codes = new OwnCodes(emailLinkName, deps)
  }

  authorizationUrl({ state, codeChallenge }: ProviderAuthorization): Promise<string> {
    const query = new URLSearchParams({ state, code_challenge: codeChallenge ?? '' })
    return Promise.resolve(`${this.authorizationEndpoint}?${query.toString()}`)
  }

  callbackUrl(proof: AddressProof, signIn: OwnSignIn): Promise<string> {
    return this.#codes.callbackUrl(proof, signIn)
  }

  async exchange(exchange: CodeExchange): Promise<Person> {
    const { address } = await this.#codes.redeem(exchange)
    return {
      stableId: `${emailLinkName}:${address}`,
      userInfo: { sub: address, email: address },
      tokens: null,
      address: parseAddress(address),
    }
  }

  verifyAssertion(): Promise<never> {
    return Promise.reject(new ProviderError('assertion', 'The service signs no assertions for addresses'))
  }
}
