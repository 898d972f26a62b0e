/** A provider by its plan: asks for a code, redeems it, and says who it was. */
import { present } from '../../json/present.ts'
import * as client from 'openid-client'
import type { Log } from '../../observe/log.ts'
import {
  type ProviderAuthorization,
  type CodeExchange,
  type Person,
  type Provider,
  ProviderError,
  type ProviderTokens,
} from '../provider.ts'
import { normalisedUserInfo } from './user-info.ts'
import { fingerprintOf, type IdTokenClaims, InvalidIdToken, rememberedUntil, verifyIdToken } from './id-token.ts'
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
import { Remembered } from './cached.ts'

export interface OAuthProviderDeps {
  readonly log: Log
  readonly outbound: Outbound
  readonly keySets: KeySets
  /** Unix milliseconds. */
  readonly now: () => number
  /** Of the service, without a slash at the end. */
  readonly baseUrl: string
}

const metadataKeepMs = 86_400_000
const metadataFailureMs = 10_000

/** A subject goes into the name by which the person is known for ever. */
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
  readonly #discovered: Remembered<Metadata>
  #endpoints: Endpoints

  /** @param name Another one than the plan's for a variant of its provider. */
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
    this.#discovered = new Remembered({
      fetch: () => this.#discover(),
      keepMs: metadataKeepMs,
      failureMs: metadataFailureMs,
      now: deps.now,
    })
  }

  /** The same provider under the name of a platform. */
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

  /** Finds out what the provider publishes about itself. */
  ready(): Promise<void> {
    return this.#reported(async () => void (await this.#metadata()))
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

  /** The operator has to see a provider that refuses or fails. Clients can send any assertion, so it stays out of the log. */
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
    // What protects the sign-in comes last, so that no setting takes its place.
    for (const [name, value] of Object.entries({ ...plan.authorizationParameters, ...parameters })) {
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
    return this.#personOf(identity, tokens, exchange.user)
  }

  async #verifyAssertion(
    assertion: string,
    nonce: string,
  ): Promise<{ person: Person; fingerprint: string; until: number }> {
    if (!this.takesAssertions) throw new ProviderError('assertion', `${this.name} has no audiences configured`)
    const metadata = await this.#metadata()
    const claims = await this.#verify(metadata, assertion, this.#plan.audiences, nonce, 'assertion')
    const identity = await this.#plan.identify({
      tokens: null,
      claims,
      userinfoEndpoint: '',
      ask: () => Promise.reject(new ProviderError('identity', 'An assertion comes without an access token')),
    })
    return {
      person: this.#personOf(identity, null, undefined),
      fingerprint: fingerprintOf(claims),
      until: rememberedUntil(claims),
    }
  }

  #personOf(
    { facts, subject, address }: ProviderIdentity,
    tokens: ProviderTokens | null,
    user: string | undefined,
  ): Person {
    if (subject === null || subject.length > longestSubject || /\p{Cc}/u.test(subject)) {
      throw new ProviderError('identity', `${this.name} did not say who it was`)
    }
    const userInfo = { ...normalisedUserInfo(this.kind, facts, user), sub: subject }
    return { userInfo, tokens, stableId: `${this.kind}:${subject}`, address }
  }

  /** One call, because a code is good for one. */
  async #redeem(
    metadata: Metadata,
    { code, redirectUri, codeVerifier }: CodeExchange,
  ): Promise<{ tokens: ProviderTokens; idToken: string | undefined }> {
    const plan = this.#plan
    const secret = await plan.clientSecret?.(this.#deps.now())
    const server = { issuer: metadata.issuers[0] ?? metadata.endpoints.token, token_endpoint: metadata.endpoints.token }
    const configuration = new client.Configuration(
      server,
      plan.clientId,
      undefined,
      authenticationFor(secret, metadata.clientAuthentication),
    )
    client.allowInsecureRequests(configuration) // judged by `Outbound`
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
        `${this.name} did not take the code: ${reasonOf(error)}`,
        status === undefined ? {} : { status },
      )
    }
  }

  /** Null where none is asked for. */
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
    const { algorithm, hashesNonce } = this.#plan
    const { keySets, now } = this.#deps
    if (metadata.keySet === null) throw new ProviderError(failure, `${this.name} publishes no keys`)
    try {
      const rules = { issuers: metadata.issuers, keySet: metadata.keySet, algorithm, hashesNonce }
      return await verifyIdToken(token, rules, { audiences, nonce }, keySets, now())
    } catch (error) {
      if (!(error instanceof InvalidIdToken)) throw error
      throw new ProviderError(failure, `An id_token of ${this.name} is refused: ${error.message}`)
    }
  }

  #metadata(): Promise<Metadata> {
    const { metadata } = this.#plan
    return 'issuer' in metadata ? this.#discovered.get() : Promise.resolve(metadata)
  }

  async #discover(): Promise<Metadata> {
    const { metadata } = this.#plan
    if (!('issuer' in metadata)) return metadata
    const { issuer, given } = metadata
    try {
      const configuration = await client.discovery(new URL(issuer), this.#plan.clientId, undefined, client.None(), {
        [client.customFetch]: this.#deps.outbound.fetchFor('discovery'),
        execute: [client.allowInsecureRequests], // judged by `Outbound`
      })
      const server = configuration.serverMetadata()
      const found = {
        authorization: given.authorization ?? server.authorization_endpoint,
        token: given.token ?? server.token_endpoint,
        userinfo: given.userinfo ?? server.userinfo_endpoint ?? '',
      }
      const keySet = given.keySet ?? server.jwks_uri
      if (found.authorization === undefined || found.token === undefined || keySet === undefined) {
        throw new ProviderError('unreachable', `${issuer} does not say where to sign in, or by which keys`)
      }
      this.#endpoints = { ...found, authorization: found.authorization, token: found.token }
      return {
        endpoints: this.#endpoints,
        issuers: [server.issuer],
        announcesIssuer: server.authorization_response_iss_parameter_supported === true,
        keySet,
        clientAuthentication: server.token_endpoint_auth_methods_supported ?? null,
      }
    } catch (error) {
      if (error instanceof ProviderError) throw error
      if (error instanceof Error && error.cause instanceof ProviderError) throw error.cause
      throw new ProviderError('unreachable', `Nothing is published at ${issuer}: ${reasonOf(error)}`)
    }
  }
}

/**
 * A response of another provider than the one that was asked is not handed to it (RFC 9207 section 2.4). Native
 * applications got theirs themselves.
 */
function refuseOtherIssuer({ issuers, announcesIssuer }: Metadata, { issuer, nonce }: CodeExchange): void {
  const isOther =
    issuer === undefined ? announcesIssuer && nonce !== null : issuers.length > 0 && !issuers.includes(issuer)
  if (isOther) throw new ProviderError('exchange', 'The response is not of the issuer that was asked')
}

function authenticationFor(secret: string | undefined, methods: readonly string[] | null): client.ClientAuth {
  if (secret === undefined) return client.None()
  const onlyBasic =
    methods !== null && methods.includes('client_secret_basic') && !methods.includes('client_secret_post')
  return onlyBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret)
}

/** An id_token is judged by one function wherever it comes from (`id-token.ts`), so the library does not see it. */
async function withoutIdToken(response: Response): Promise<{ response: Response; idToken: string | undefined }> {
  const text = await response.text()
  const { status } = response
  const headers = { 'content-type': response.headers.get('content-type') ?? '' }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    if (status === 200) throw new ProviderError('unreachable', 'The token endpoint answered with what is not JSON')
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

function tokensOf(answer: client.TokenEndpointResponse, idToken: string | undefined): ProviderTokens {
  const { access_token, refresh_token, expires_in } = answer
  return present({ access_token, refresh_token, expires_in, id_token: idToken })
}

/** The code of the error, and what the provider calls it; never what was sent or came back. */
function reasonOf(error: unknown): string {
  if (error instanceof client.ResponseBodyError) return /^[\w.-]{1,64}$/.test(error.error) ? error.error : 'an error'
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'it cannot be read'
}
