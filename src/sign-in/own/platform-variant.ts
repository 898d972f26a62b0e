/** A sign-in of this service under the name that applications use, such as `passkey-mobile`. */
import type { CodeExchange, Person, Provider, ProviderAuthorization } from '../provider.ts'
import { isForPlatform, providerKindOf } from '../providers/provider-config.ts'

class PlatformVariant implements Provider {
  readonly name: string
  readonly platform = 'any'
  readonly #provider: Provider

  constructor(provider: Provider, name: string) {
    this.#provider = provider
    this.name = name
  }

  get kind(): string {
    return this.#provider.kind
  }

  get displayName(): string {
    return this.#provider.displayName
  }

  get responseMode(): Provider['responseMode'] {
    return this.#provider.responseMode
  }

  get redirectUri(): string {
    return this.#provider.redirectUri
  }

  get deepLink(): string | null {
    return this.#provider.deepLink
  }

  get authorizationEndpoint(): string {
    return this.#provider.authorizationEndpoint
  }

  get tokenEndpoint(): string {
    return this.#provider.tokenEndpoint
  }

  get userinfoEndpoint(): string {
    return this.#provider.userinfoEndpoint
  }

  get takesAssertions(): boolean {
    return this.#provider.takesAssertions
  }

  authorizationUrl(request: ProviderAuthorization): Promise<string> {
    return this.#provider.authorizationUrl(request)
  }

  exchange(exchange: CodeExchange): Promise<Person> {
    return this.#provider.exchange(exchange)
  }

  verifyAssertion(assertion: string, nonce: string): ReturnType<Provider['verifyAssertion']> {
    return this.#provider.verifyAssertion(assertion, nonce)
  }
}

/** Returns the provider under a name with exactly one platform suffix. Null for every other name. */
export function variantOf(provider: Provider, name: string): Provider | null {
  return isForPlatform(name) && providerKindOf(name) === provider.name ? new PlatformVariant(provider, name) : null
}
