/** The identity provider of a test. It confirms every address, and needs no network. */
import type { Address } from '../actor/address.ts'
import { randomToken } from '../secret/random.ts'
import type { CodeExchange, Person, Provider, ProviderAuthorization, Providers } from '../sign-in/provider.ts'
import { ProviderError } from '../sign-in/provider.ts'

const name = 'test'
const origin = 'https://sign-in.test'

export class TestProvider implements Provider, Providers {
  readonly name = name
  readonly kind = name
  readonly displayName = 'Test'
  readonly responseMode = 'query'
  readonly platform = 'web'
  readonly redirectUri: string
  readonly deepLink = null
  readonly authorizationEndpoint = `${origin}/auth`
  readonly tokenEndpoint = `${origin}/token`
  readonly userinfoEndpoint = `${origin}/me`
  readonly takesAssertions = false
  readonly all = [this]
  /** The people of codes that were not exchanged yet. */
  readonly #people = new Map<string, Person>()

  constructor(baseUrl: string) {
    this.redirectUri = `${baseUrl}/oauth/callback`
  }

  find(asked: string): Provider | null {
    return asked === name ? this : null
  }

  ready(): Promise<void> {
    return Promise.resolve()
  }

  problems(): Promise<[]> {
    return Promise.resolve([])
  }

  authorizationUrl({ state }: ProviderAuthorization): Promise<string> {
    return Promise.resolve(`${this.authorizationEndpoint}?${new URLSearchParams({ state }).toString()}`)
  }

  /** Signs a person in at the authorization URL, and returns the URL to which the provider sends the browser. */
  signIn(authorizationUrl: string, email: Address, displayName: string): string {
    const state = new URL(authorizationUrl).searchParams.get('state') ?? ''
    const code = randomToken()
    this.#people.set(code, {
      userInfo: { sub: email, email, name: displayName, display_name: displayName },
      tokens: { access_token: randomToken(), expires_in: 3600 },
      stableId: `${name}:${email}`,
      address: email,
    })
    return `${this.redirectUri}?${new URLSearchParams({ code, state }).toString()}`
  }

  exchange({ code }: CodeExchange): Promise<Person> {
    const person = this.#people.get(code)
    this.#people.delete(code)
    return person === undefined
      ? Promise.reject(new ProviderError('exchange', 'The code is not valid'))
      : Promise.resolve(person)
  }

  verifyAssertion(): Promise<never> {
    return Promise.reject(new ProviderError('assertion', 'The provider of the test accepts no assertions'))
  }
}
