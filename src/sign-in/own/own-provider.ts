/** A provider whose people this service authenticates itself: on a page of its own, which hands a code to the callback. */
import {
  type CodeExchange,
  type Person,
  type Provider,
  type ProviderAuthorization,
  ProviderError,
} from '../provider.ts'
import { OwnCodes, type OwnCodesDeps, type OwnSignIn } from './own-codes.ts'

export interface OwnProviderPlan {
  readonly name: string
  readonly displayName: string
  /** The path of the page, below the service's prefix. */
  readonly path: string
}

export interface OwnProviderDeps extends OwnCodesDeps {
  /** URL of the mobile application that receives the ticket, or null. */
  readonly deepLink: string | null
}

/** @typeParam T JSON: what the page found out about the person. */
export abstract class OwnProvider<T extends object> implements Provider {
  readonly name: string
  readonly kind: string
  readonly displayName: string
  readonly responseMode = 'query'
  readonly platform = 'web'
  readonly deepLink: string | null
  readonly tokenEndpoint = ''
  readonly userinfoEndpoint = ''
  readonly takesAssertions = false
  readonly redirectUri: string
  readonly #page: string
  readonly #codes: OwnCodes<T>

  constructor({ name, displayName, path }: OwnProviderPlan, deps: OwnProviderDeps) {
    this.name = name
    this.kind = name
    this.displayName = displayName
    this.deepLink = deps.deepLink
    this.redirectUri = `${deps.baseUrl}/oauth/callback`
    this.#page = `${deps.baseUrl}${path}`
    this.#codes = new OwnCodes(name, deps)
  }

  get authorizationEndpoint(): string {
    return this.#page
  }

  authorizationUrl({ state, codeChallenge }: ProviderAuthorization): Promise<string> {
    return Promise.resolve(this.pageWith({ state, code_challenge: codeChallenge ?? '' }))
  }

  pageWith(query: Record<string, string>): string {
    return `${this.#page}?${new URLSearchParams(query).toString()}`
  }

  /**
   * @param browserSeconds Time until the browser arrives at the callback. Default: one minute.
   * @returns the URL of the callback, with a code that is valid once and only in this sign-in.
   */
  callbackUrl(proof: T, signIn: OwnSignIn, browserSeconds?: number): Promise<string> {
    return this.#codes.callbackUrl(proof, signIn, browserSeconds)
  }

  async exchange(exchange: CodeExchange): Promise<Person> {
    return this.personOf(await this.#codes.redeem(exchange))
  }

  verifyAssertion(): Promise<never> {
    return Promise.reject(new ProviderError('assertion', `The provider ${this.name} signs no assertions`))
  }

  protected abstract personOf(proof: T): Person
}
