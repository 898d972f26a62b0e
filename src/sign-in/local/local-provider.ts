/** The development provider, which accepts any typed email address. Its server starts on first use. */
import type { ProviderAuthorization, CodeExchange, Person, Provider } from '../provider.ts'
import { ProviderError, type ProviderProblem, type Providers } from '../provider.ts'
import { localProviderName } from '../own/own-plans.ts'
import { variantOf } from '../own/platform-variant.ts'
import { staticSecret } from '../providers/client-secret.ts'
import { OAuthProvider, type OAuthProviderDeps } from '../providers/oauth-provider.ts'
import { identifyByOpenId } from '../providers/openid-identity.ts'
import type { ProviderPlan } from '../providers/provider-config.ts'
import type { LocalServer, LocalServerOptions } from './local-server.ts'

const name = localProviderName

export interface LocalProviderOptions extends Pick<LocalServerOptions, 'pages' | 'log'> {
  /** URL of the mobile application that receives the ticket, or null. */
  readonly deepLink: string | null
}

export class LocalProvider implements Provider {
  readonly name = name
  readonly kind = name
  readonly displayName = 'local sign-in'
  readonly responseMode = 'query'
  readonly platform = 'web'
  readonly redirectUri: string
  readonly deepLink: string | null
  readonly takesAssertions = false
  readonly #deps: OAuthProviderDeps
  readonly #options: LocalProviderOptions
  #running: Promise<{ readonly server: LocalServer; readonly provider: OAuthProvider }> | undefined
  #provider: OAuthProvider | undefined
  #isClosed = false

  constructor(deps: OAuthProviderDeps, options: LocalProviderOptions) {
    this.#deps = deps
    this.#options = options
    this.redirectUri = `${deps.baseUrl}/oauth/callback`
    this.deepLink = options.deepLink
  }

  get authorizationEndpoint(): string {
    return this.#provider?.authorizationEndpoint ?? ''
  }

  get tokenEndpoint(): string {
    return this.#provider?.tokenEndpoint ?? ''
  }

  get userinfoEndpoint(): string {
    return this.#provider?.userinfoEndpoint ?? ''
  }

  async ready(): Promise<void> {
    await this.#started()
  }

  async authorizationUrl(request: ProviderAuthorization): Promise<string> {
    return (await this.#started()).authorizationUrl(request)
  }

  async exchange(exchange: CodeExchange): Promise<Person> {
    return (await this.#started()).exchange(exchange)
  }

  verifyAssertion(): Promise<never> {
    return Promise.reject(new ProviderError('assertion', 'The local provider accepts no assertions'))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await (await this.#running?.catch(() => undefined))?.server.close()
  }

  async #started(): Promise<OAuthProvider> {
    if (this.#isClosed) throw new ProviderError('unreachable', 'Cannot use the local provider: the service is stopping')
    this.#running ??= this.#start().catch((error: unknown) => {
      // The next sign-in starts the server again.
      this.#running = undefined
      throw new ProviderError('unreachable', 'Cannot start the local provider', { cause: error })
    })
    this.#provider = (await this.#running).provider
    return this.#provider
  }

  async #start(): Promise<{ readonly server: LocalServer; readonly provider: OAuthProvider }> {
    // Imported on demand: production, and services with real providers, never load oidc-provider.
    const { startLocalServer } = await import('./local-server.ts')
    const { pages, log } = this.#options
    const server = await startLocalServer({ pages, log, redirectUri: this.redirectUri })
    return { server, provider: new OAuthProvider(planOf(server), this.#deps) }
  }
}

function planOf({ issuer, clientId, clientSecret }: LocalServer): ProviderPlan {
  return {
    name,
    displayName: name,
    responseMode: 'query',
    clientId,
    clientSecret: staticSecret(clientSecret),
    scope: 'openid email profile',
    redirectUri: null,
    deepLink: null,
    audiences: [],
    // The login page always appears, because developers switch between users.
    authorizationParameters: { prompt: 'login' },
    freshParameters: {},
    takesChallenge: true,
    takesLoginHint: true,
    algorithms: ['ES256'],
    hashesNonce: false,
    metadata: {
      endpoints: { authorization: `${issuer}/auth`, token: `${issuer}/token`, userinfo: `${issuer}/me` },
      issuers: [issuer],
      announcesIssuer: true,
      keySet: `${issuer}/jwks`,
      clientAuthentication: null,
    },
    identify: identifyByOpenId,
  }
}

export class LocalProviders implements Providers {
  readonly all: readonly [LocalProvider]

  constructor(provider: LocalProvider) {
    this.all = [provider]
  }

  find(asked: string): Provider | null {
    return asked === name ? this.all[0] : variantOf(this.all[0], asked)
  }

  async ready(): Promise<void> {
    await this.all[0].ready().catch(() => undefined)
  }

  /** The local provider starts with the first sign-in. */
  problems(): Promise<readonly ProviderProblem[]> {
    return Promise.resolve([])
  }
}

/** Returns whether the optional package oidc-provider is installed. */
export function hasLocalProvider(): boolean {
  try {
    import.meta.resolve('oidc-provider/lib/provider.js')
    return true
  } catch {
    return false
  }
}
