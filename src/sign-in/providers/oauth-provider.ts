/** A provider by its plan: requests a code, redeems it, and identifies the person. */
import { present } from '../../json/present.ts'
import type * as openidClient from 'openid-client'
import type { Log } from '../../observe/log.ts'
import {
  type ProviderAuthorization,
  type CodeExchange,
  type Person,
  type Provider,
  ProviderError,
  type ProviderTokens,
} from '../provider.ts'
import { normalizedUserInfo } from './user-info.ts'
import {
  fingerprintOf,
  type IdTokenClaims,
  InvalidIdToken,
  isIssuer,
  rememberedUntil,
  tenantIssuer,
  tenantOf,
  tenantPlaceholder,
  verifyIdToken,
} from './id-token.ts'
import type { KeySets } from './key-sets.ts'
import type { Outbound } from './outbound.ts'
import {
  asksForIdToken,
  type Endpoints,
  type ProviderIdentity,
  isForPlatform,
  providerKindOf,
  type Metadata,
  type ProviderPlan,
} from './provider-config.ts'
import { Cached } from './cached.ts'

export interface OAuthProviderDeps {
  readonly log: Log
  readonly outbound: Outbound
  readonly keySets: KeySets
  /** Unix milliseconds. */
  readonly now: () => number
  /** URL of the service, without a trailing slash. */
  readonly baseUrl: string
}

const metadataKeepMs = 86_400_000
const metadataFailureMs = 10_000

/** Maximum length of a subject, which becomes part of the person's permanent id. */
const longestSubject = 255

export class OAuthProvider implements Provider {
  readonly name: string
  readonly kind: string
  readonly displayName: string
  readonly responseMode: 'query' | 'form_post'
  readonly platform: 'web' | 'any'
  readonly redirectUri: string
  readonly deepLink: string | null
  readonly takesAssertions: boolean
  readonly #plan: ProviderPlan
  readonly #deps: OAuthProviderDeps
  readonly #discovered: Cached<Metadata>
  #endpoints: Endpoints

  /** @param name Differs from the plan's name in a platform variant. */
  constructor(plan: ProviderPlan, deps: OAuthProviderDeps, name = plan.name) {
    this.#plan = plan
    this.#deps = deps
    this.name = name
    this.kind = providerKindOf(name)
    this.displayName = plan.displayName
    this.responseMode = plan.responseMode
    this.platform = isForPlatform(name) ? 'any' : 'web'
    const callback = `${deps.baseUrl}/oauth/callback`
    this.redirectUri = plan.redirectUri ?? (plan.responseMode === 'query' ? callback : `${callback}/${this.kind}`)
    this.deepLink = plan.deepLink
    const { metadata } = plan
    this.takesAssertions = plan.audiences.length > 0 && ('issuer' in metadata || metadata.keySet !== null)
    this.#endpoints =
      'issuer' in metadata
        ? { authorization: '', token: '', userinfo: '', ...present(metadata.given) }
        : metadata.endpoints
    this.#discovered = new Cached({
      fetch: () => this.#discover(),
      keepMs: metadataKeepMs,
      failureMs: metadataFailureMs,
      now: deps.now,
    })
  }

  /** Returns the same provider under the name of a platform variant. */
  variant(name: string): OAuthProvider {
    return new OAuthProvider(this.#plan, this.#deps, name)
  }

  get authorizationEndpoint(): string {
    return this.#endpoints.authorization
  }

  get tokenEndpoint(): string {
    return this.#endpoints.token
  }

  get userinfoEndpoint(): string {
    return this.#endpoints.userinfo
  }

  /** Discovers the provider's metadata. */
  ready(): Promise<void> {
    return this.#reported(async () => void (await this.#metadata()))
  }

  /**
   * Discovers the provider as a sign-in does, and returns why people cannot sign in. Null when no reason is known: a provider
   * without discovery is not asked.
   */
  async problem(): Promise<string | null> {
    if (!('issuer' in this.#plan.metadata)) return null
    try {
      return await this.#keyProblem(await this.#metadata())
    } catch (error) {
      if (error instanceof ProviderError) return error.message
      throw error
    }
  }

  authorizationUrl(request: ProviderAuthorization): Promise<string> {
    return this.#reported(() => this.#authorizationUrl(request))
  }

  exchange(exchange: CodeExchange): Promise<Person> {
    return this.#reported(() => this.#exchange(exchange))
  }

  verifyAssertion(assertion: string, nonce: string): Promise<{ person: Person; fingerprint: string; until: number }> {
    return this.#reported(() => this.#verifyAssertion(assertion, nonce))
  }

  async #reported<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ProviderError) this.#report(error)
      throw error
    }
  }

  /** Warns the operator of a failing provider. Assertions are logged at debug, because clients can send any number of them. */
  #report({ failure, status, message }: ProviderError): void {
    const level = failure === 'assertion' ? 'debug' : 'warn'
    const event = { provider: this.name, failure, status, reason: message }
    this.#deps.log[level](event, 'A sign-in provider refused or failed')
  }

  async #authorizationUrl(request: ProviderAuthorization): Promise<string> {
    const plan = this.#plan
    const { endpoints } = await this.#metadata()
    const url = new URL(endpoints.authorization)
    const parameters = {
      response_type: 'code',
      client_id: plan.clientId,
      redirect_uri: this.redirectUri,
      scope: plan.scope,
      state: request.state,
      ...(asksForIdToken(plan.scope) || plan.responseMode === 'form_post' ? { nonce: request.nonce } : {}),
      ...(plan.responseMode === 'form_post' ? { response_mode: 'form_post' } : {}),
      ...(request.codeChallenge !== null && plan.takesChallenge
        ? { code_challenge: request.codeChallenge, code_challenge_method: 'S256' }
        : {}),
      ...(request.loginHint !== undefined && plan.takesLoginHint ? { login_hint: request.loginHint } : {}),
    }
    // The parameters that protect the sign-in come last, so that no setting overrides them.
    const fresh = request.isFresh === true ? plan.freshParameters : {}
    for (const [name, value] of Object.entries({ ...plan.authorizationParameters, ...fresh, ...parameters })) {
      url.searchParams.set(name, value)
    }
    return url.href
  }

  async #exchange(exchange: CodeExchange): Promise<Person> {
    const metadata = await this.#metadata()
    refuseOtherIssuer(metadata, exchange)
    const { tokens, idToken } = await this.#redeem(metadata, exchange)
    const claims = await this.#claimsOf(metadata, idToken, exchange.nonce)
    const tolerated: unknown[] = []
    const identity = await this.#plan.identify({
      tokens,
      claims,
      userinfoEndpoint: metadata.endpoints.userinfo,
      ask: (url) =>
        this.#deps.outbound.json('userinfo', url, tokens.access_token).catch((error: unknown) => {
          tolerated.push(error)
          throw error
        }),
    })
    for (const error of tolerated) if (error instanceof ProviderError) this.#report(error)
    const tenant = claims === null ? null : tenantOf(claims, metadata.issuers)
    return { ...this.#personOf({ ...identity, tenant }, tokens, exchange.user), ...authenticationIn(claims) }
  }

  async #verifyAssertion(
    assertion: string,
    nonce: string,
  ): Promise<{ person: Person; fingerprint: string; until: number }> {
    if (!this.takesAssertions)
      throw new ProviderError('assertion', `Cannot verify an assertion: ${this.name} has no audiences`)
    const metadata = await this.#metadata()
    const claims = await this.#verify(metadata, assertion, this.#plan.audiences, nonce, 'assertion')
    const identity = await this.#plan.identify({
      tokens: null,
      claims,
      userinfoEndpoint: '',
      ask: () =>
        Promise.reject(new ProviderError('identity', 'Cannot fetch userinfo: an assertion has no access token')),
    })
    return {
      person: this.#personOf({ ...identity, tenant: tenantOf(claims, metadata.issuers) }, null, undefined),
      fingerprint: fingerprintOf(claims),
      until: rememberedUntil(claims),
    }
  }

  #personOf(
    { facts, subject, address, tenant }: ProviderIdentity & { readonly tenant: string | null },
    tokens: ProviderTokens | null,
    user: string | undefined,
  ): Person {
    if (subject === null || subject.length > longestSubject || /\p{Cc}/u.test(subject)) {
      throw new ProviderError('identity', `Cannot identify the person: ${this.name} sent no valid subject`)
    }
    const userInfo = { ...normalizedUserInfo(this.kind, facts, user), sub: subject }
    return { userInfo, tokens, stableId: [this.kind, ...(tenant === null ? [] : [tenant]), subject].join(':'), address }
  }

  /** Redeems the code in exactly one call, because a code is valid once. */
  async #redeem(
    metadata: Metadata,
    { code, redirectUri, codeVerifier }: CodeExchange,
  ): Promise<{ tokens: ProviderTokens; idToken: string | undefined }> {
    const plan = this.#plan
    const client = await loadClient()
    const secret = await plan.clientSecret?.(this.#deps.now())
    const server = { issuer: metadata.issuers[0] ?? metadata.endpoints.token, token_endpoint: metadata.endpoints.token }
    const configuration = new client.Configuration(
      server,
      plan.clientId,
      undefined,
      authenticationFor(client, secret, metadata.clientAuthentication),
    )
    client.allowInsecureRequests(configuration) // `Outbound` enforces https
    let idToken: string | undefined
    let status: number | undefined
    configuration[client.customFetch] = async (...request) => {
      const answered = await this.#deps.outbound.fetchFor('token')(...request)
      status = answered.status
      const lifted = await withoutIdToken(answered)
      idToken = lifted.idToken
      return lifted.response
    }
    try {
      const answer = await client.genericGrantRequest(configuration, 'authorization_code', {
        code,
        redirect_uri: redirectUri ?? this.redirectUri,
        ...(codeVerifier !== null && plan.takesChallenge ? { code_verifier: codeVerifier } : {}),
      })
      return { tokens: tokensOf(answer, idToken), idToken }
    } catch (error) {
      if (error instanceof ProviderError) throw error
      if (error instanceof Error && error.cause instanceof ProviderError) throw error.cause
      throw new ProviderError(
        'exchange',
        `${this.name} rejected the code: ${reasonOf(client, error)}`,
        status === undefined ? {} : { status },
      )
    }
  }

  /** Verifies the id_token. Null when the scope requests none. */
  async #claimsOf(metadata: Metadata, token: string | undefined, nonce: string | null): Promise<IdTokenClaims | null> {
    const { scope, clientId } = this.#plan
    if (metadata.keySet === null || !asksForIdToken(scope)) return null
    if (token === undefined) throw new ProviderError('identity', `${this.name} sent no id_token`)
    return this.#verify(metadata, token, [clientId], nonce, 'identity')
  }

  async #verify(
    metadata: Metadata,
    token: string,
    audiences: readonly string[],
    nonce: string | null,
    failure: 'identity' | 'assertion',
  ): Promise<IdTokenClaims> {
    const { algorithms, hashesNonce } = this.#plan
    const { keySets, now } = this.#deps
    if (metadata.keySet === null) throw new ProviderError(failure, `${this.name} publishes no keys`)
    try {
      const rules = { issuers: metadata.issuers, keySet: metadata.keySet, algorithms, hashesNonce }
      return await verifyIdToken(
        token,
        rules,
        { audiences, nonce, isForOthers: failure === 'assertion' },
        keySets,
        now(),
      )
    } catch (error) {
      if (!(error instanceof InvalidIdToken)) throw error
      throw new ProviderError(failure, `Cannot accept the id_token of ${this.name}: ${error.message}`)
    }
  }

  /** Returns why no id_token of the provider can be verified. */
  async #keyProblem({ keySet, signsWith }: Metadata): Promise<string | null> {
    const { algorithms, scope } = this.#plan
    if (keySet === null || (!asksForIdToken(scope) && !this.takesAssertions)) return null
    const cannot = `Cannot verify id_tokens of ${this.name}:`
    const accepted = algorithms.join(', ')
    // A configured algorithm says more than discovery, which may name other ones than the provider uses.
    const isOther = algorithms.length > 1 && signsWith?.every((each) => !algorithms.includes(each)) === true
    if (isOther)
      return `${cannot} the provider signs with ${signsWith.join(', ').slice(0, 200)} alone, and the service accepts ${accepted}. Choose one of these at the provider.`
    if (await this.#deps.keySets.fits(keySet, algorithms)) return null
    return `${cannot} none of its keys at ${keySet} fits ${accepted}.`
  }

  #metadata(): Promise<Metadata> {
    const { metadata } = this.#plan
    return 'issuer' in metadata ? this.#discovered.get() : Promise.resolve(metadata)
  }

  /** @throws ProviderError for metadata of another issuer, with a sentence that names both. */
  async #serverMetadata(client: OpenIdClient, issuer: string): Promise<openidClient.ServerMetadata> {
    let server: openidClient.ServerMetadata
    try {
      const configuration = await client.discovery(new URL(issuer), this.#plan.clientId, undefined, client.None(), {
        [client.customFetch]: this.#deps.outbound.fetchFor('discovery'),
        execute: [client.allowInsecureRequests], // `Outbound` enforces https
      })
      server = configuration.serverMetadata()
    } catch (error) {
      const other = otherMetadata(client, error)
      if (other === null) throw error
      server = other
    }
    const template = tenantIssuer(server.issuer, issuer)
    if (template !== null) return { ...server, issuer: template }
    const isKnown = URL.parse(server.issuer)?.href === new URL(issuer).href || isEntra(issuer)
    if (isKnown && !server.issuer.includes(tenantPlaceholder)) return server
    const found = server.issuer.slice(0, 200)
    throw new ProviderError(
      'unreachable',
      `Cannot use the issuer ${issuer}: the provider says that its issuer is ${found}. Set exactly that address.`,
    )
  }

  async #discover(): Promise<Metadata> {
    const { metadata } = this.#plan
    if (!('issuer' in metadata)) return metadata
    const { issuer, given } = metadata
    const client = await loadClient()
    try {
      const server = await this.#serverMetadata(client, issuer)
      const found = {
        authorization: given.authorization ?? server.authorization_endpoint,
        token: given.token ?? server.token_endpoint,
        userinfo: given.userinfo ?? server.userinfo_endpoint ?? '',
      }
      const keySet = given.keySet ?? server.jwks_uri
      if (found.authorization === undefined || found.token === undefined || keySet === undefined) {
        throw new ProviderError('unreachable', `Cannot use ${issuer}: its metadata lacks an endpoint or jwks_uri`)
      }
      this.#endpoints = { ...found, authorization: found.authorization, token: found.token }
      return {
        endpoints: this.#endpoints,
        issuers: [server.issuer],
        announcesIssuer: server.authorization_response_iss_parameter_supported === true,
        keySet,
        clientAuthentication: server.token_endpoint_auth_methods_supported ?? null,
        signsWith: namesIn(server.id_token_signing_alg_values_supported),
      }
    } catch (error) {
      if (error instanceof ProviderError) throw error
      if (error instanceof Error && error.cause instanceof ProviderError) throw error.cause
      throw new ProviderError('unreachable', `Cannot discover ${issuer}: ${reasonOf(client, error)}`)
    }
  }
}

/** Returns the names of a list in metadata. Null when the provider names none. */
function namesIn(list: unknown): readonly string[] | null {
  if (!Array.isArray(list) || list.length === 0) return null
  return list.filter((each): each is string => typeof each === 'string')
}

/** Microsoft Entra accepts a domain in place of the id of a tenant, and names the id. */
function isEntra(issuer: string): boolean {
  return new URL(issuer).origin === 'https://login.microsoftonline.com'
}

/** The metadata of a provider that says another issuer than the configured one; null for any other error. */
function otherMetadata(client: OpenIdClient, error: unknown): openidClient.ServerMetadata | null {
  if (!(error instanceof client.ClientError) || error.code !== 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') return null
  return (error.cause as { readonly body: openidClient.ServerMetadata }).body
}

/** Reads when the provider asked the person (OpenID Connect Core section 2). Some providers state fractions of seconds. */
function authenticationIn(claims: IdTokenClaims | null): Pick<Person, 'authenticatedAt'> {
  const seconds = claims?.['auth_time']
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return {}
  return { authenticatedAt: Math.max(0, Math.floor(seconds * 1000)) }
}

/**
 * Refuses a response from another issuer, which prevents mix-up attacks (RFC 9207 section 2.4). Native applications
 * received the response themselves, so theirs may lack `iss`.
 */
function refuseOtherIssuer({ issuers, announcesIssuer }: Metadata, { issuer, nonce }: CodeExchange): void {
  const isOther =
    issuer === undefined
      ? announcesIssuer && nonce !== null
      : issuers.length > 0 && !issuers.some((each) => isIssuer(issuer, each))
  if (isOther) throw new ProviderError('exchange', 'Cannot accept the response: its issuer is missing or unexpected')
}

type OpenIdClient = typeof openidClient

/** Loads the library with the first call to a provider. A service whose people sign in elsewhere never loads it. */
function loadClient(): Promise<OpenIdClient> {
  return import('openid-client')
}

function authenticationFor(
  client: OpenIdClient,
  secret: string | undefined,
  methods: readonly string[] | null,
): openidClient.ClientAuth {
  if (secret === undefined) return client.None()
  const onlyBasic =
    methods !== null && methods.includes('client_secret_basic') && !methods.includes('client_secret_post')
  return onlyBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret)
}

/** Removes the id_token from the response, so that only `id-token.ts` verifies id_tokens and not the library. */
async function withoutIdToken(response: Response): Promise<{ response: Response; idToken: string | undefined }> {
  const text = await response.text()
  const { status } = response
  const headers = { 'content-type': response.headers.get('content-type') ?? '' }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    if (status === 200) throw new ProviderError('unreachable', 'The token endpoint returned invalid JSON')
  }
  if (typeof parsed !== 'object' || parsed === null || !('id_token' in parsed)) {
    return { response: new Response(text, { status, headers }), idToken: undefined }
  }
  const { id_token, ...rest } = parsed
  return {
    response: Response.json(rest, { status }),
    idToken: typeof id_token === 'string' ? id_token : undefined,
  }
}

function tokensOf(answer: openidClient.TokenEndpointResponse, idToken: string | undefined): ProviderTokens {
  const { access_token, refresh_token, expires_in } = answer
  return present({ access_token, refresh_token, expires_in, id_token: idToken })
}

/** Returns the error code of the provider or runtime. Never returns request or response data. */
function reasonOf(client: OpenIdClient, error: unknown): string {
  if (error instanceof client.ResponseBodyError) return /^[\w.-]{1,64}$/.test(error.error) ? error.error : 'an error'
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'invalid response'
}
