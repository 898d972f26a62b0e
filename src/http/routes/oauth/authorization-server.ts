/** The authorization server: clients register, owners let them in, clients get tokens. */
import { type AuthorizationRequest, judgeAuthorization } from '../../../authorization-server/authorization-request.ts'
import type { Client } from '../../../authorization-server/client.ts'
import { finishPath } from '../../../authorization-server/consents.ts'
import { OAuthError } from '../../../authorization-server/oauth-error.ts'
import { isLoopback, shownTarget, withParameters } from '../../../authorization-server/redirect-uri.ts'
import { readRegistration } from '../../../authorization-server/registration.ts'
import type { Actor } from '../../../actor/actor.ts'
import { sessionCookie as sessionCookieName } from '../../../auth/credentials.ts'
import { ServiceError } from '../../../errors.ts'
import { toPlain } from '../../../json/json.ts'
import { type Answer, html, redirect } from '../../edge/response.ts'
import { originOf } from '../../dispatch/anti-forgery.ts'
import { readJson, saysJson } from '../../edge/body.ts'
import { browserCookie, browserOf, cookieOf } from '../../edge/cookies.ts'
import { inOAuthWords, oauthFailure, oauthJson, type OAuthFields, readFields, readForm } from './oauth-response.ts'
import { acceptsPages } from '../../edge/accepts.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { anyValue, errorResponses } from '../../dispatch/schemas.ts'
import { pagePolicy } from '../../edge/security-headers.ts'
import { beginAddress, providerTargets, webProviders } from '../../dispatch/sign-in-address.ts'
import { rightsInWords } from '../../../pages/shared/rights.ts'
import { visible } from '../../../pages/shared/visible.ts'

const oauthError = { type: 'object', properties: { error: { type: 'string' }, error_description: { type: 'string' } } }
const refusals = {
  400: { text: 'Refused, with the code of the RFC', schema: oauthError },
  500: { text: 'server_error; nothing is spent', schema: oauthError },
}
const form = (properties: Record<string, object>): Record<string, object> => ({
  'application/x-www-form-urlencoded': { type: 'object', properties },
})

export const oauthServerRoutes: readonly Route[] = [
  {
    id: 'registerClient',
    method: 'POST',
    path: '/oauth/register',
    access: 'service',
    cors: 'server',
    takesForeignPosts: true,
    limit: ['register_client/source', 'register_client/total'],
    summary: 'A client registers itself (RFC 7591)',
    request: { 'application/json': anyValue },
    responses: {
      201: { text: 'The client; its secret is shown this once', schema: anyValue },
      413: { text: 'The body is larger than 64 KiB', schema: oauthError },
      ...refusals,
    },
    handler: (exchange) => inOAuthWords(() => register(exchange)),
  },
  {
    id: 'authorizePage',
    method: 'GET',
    path: '/oauth/authorize',
    access: 'service',
    page: true,
    cors: 'page',
    limit: ['authorize/source', 'authorize/total'],
    summary: 'Asks the owner whether a client may come in (RFC 6749 section 4.1.1)',
    query: {
      client_id: 'Registered, or the address of a metadata document',
      redirect_uri: 'Exactly as registered',
      response_type: '`code`',
      state: 'Comes back byte for byte',
      code_challenge: 'RFC 7636',
      code_challenge_method: '`S256`',
      scope: '`mcp`',
      resource: 'RFC 8707',
    },
    responses: {
      200: { text: 'The page', type: 'text/html' },
      302: 'Back to the client with `error`, `state` and `iss`',
      ...errorResponses(400),
    },
    handler: authorize,
  },
  {
    id: 'authorizeDecision',
    method: 'POST',
    path: '/oauth/authorize',
    access: 'service',
    page: true,
    cors: 'page',
    // The value in the form belongs to this browser and is good once: nobody else can send it.
    takesForeignPosts: true,
    limit: ['authorize/source', 'authorize/total'],
    summary: 'The owner’s answer',
    request: form({ consent: {}, decision: {}, trust_type: {}, provider: {}, email: {} }),
    responses: { 303: 'To the provider, or back to the client', ...errorResponses(400, 403) },
    handler: decide,
  },
  {
    id: 'authorizeFinish',
    method: 'GET',
    path: finishPath,
    access: 'service',
    page: true,
    takesNoHead: true,
    summary: 'Back from the provider: the client gets its code',
    query: { consent: 'What the owner agreed to, in this browser', error: 'Why nobody signed in' },
    responses: { 302: 'Back to the client with `code` or `error`, `state` and `iss`', ...errorResponses(400, 403) },
    handler: finish,
  },
  {
    id: 'clientToken',
    method: 'POST',
    path: '/oauth/token',
    access: 'service',
    cors: 'server',
    takesForeignPosts: true,
    limit: ['client_token/source', 'client_token/total'],
    summary: 'Tokens for a client (RFC 6749 section 3.2)',
    request: form({ grant_type: {}, code: {}, redirect_uri: {}, code_verifier: {}, refresh_token: {}, resource: {} }),
    responses: { 200: { text: 'The tokens', schema: anyValue }, 401: 'invalid_client', ...refusals },
    handler: (exchange) => inOAuthWords(() => token(exchange)),
  },
  {
    id: 'revokeClientToken',
    method: 'POST',
    path: '/oauth/token/revoke',
    access: 'service',
    cors: 'server',
    takesForeignPosts: true,
    limit: ['client_token/source', 'client_token/total'],
    summary: 'A client gives a token back (RFC 7009)',
    request: form({ token: {}, token_type_hint: {} }),
    responses: { 200: 'It is good for nothing any more', 401: 'invalid_client', ...refusals },
    handler: (exchange) => inOAuthWords(() => revoke(exchange)),
  },
]

/** Anyone may register a client, and the client's metadata is stored. */
const maxRegistrationBytes = 65_536

async function register({ request, parts }: Exchange): Promise<Answer> {
  if (!saysJson(request)) throw new OAuthError('invalid_request', 'The body has to be application/json')
  const { maxBodyBytes, maxJsonDepth } = parts.config
  const limits = { maxBodyBytes: Math.min(maxBodyBytes, maxRegistrationBytes), maxJsonDepth }
  const body = toPlain(await readJson(request, limits))
  const { client, secret } = await parts.clients.register(readRegistration(body, parts.config.clientTrustTypes))
  return oauthJson(201, {
    client_id: client.clientId,
    ...(secret === null ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
    client_name: client.name,
    redirect_uris: client.redirectUris,
    grant_types: client.grantTypes,
    response_types: ['code'],
    token_endpoint_auth_method: client.authMethod,
    trust_type: client.trustType,
    ...client.metadata,
    created_at: Math.floor(client.createdAt / 1000),
    client_id_issued_at: Math.floor(client.createdAt / 1000),
    actor_id: client.ownerId,
    issuer: parts.baseUrl,
    authorization_endpoint: `${parts.baseUrl}/oauth/authorize`,
    token_endpoint: `${parts.baseUrl}/oauth/token`,
  })
}

async function authorize(exchange: Exchange): Promise<Answer> {
  return onPage(exchange, async () => {
    const { request, parts } = exchange
    const judged = await judge(exchange, readFields(request.query))
    if ('answer' in judged) return judged.answer
    const mark = browserCookie(request)
    // A look at the address asks nobody.
    if (request.method === 'HEAD') return html(200, '')
    const { client, asked } = judged
    const owner = await signedInOwner(exchange)
    const consent = await parts.consents.ask(asked, owner?.id ?? null, mark.value)
    parts.purge.occasionally()
    return { ...(await consentPage(exchange, { client, asked, owner, consent })), cookies: [mark.cookie] }
  })
}

async function judge(
  { parts }: Exchange,
  fields: OAuthFields,
): Promise<{ readonly answer: Answer } | { readonly client: Client; readonly asked: AuthorizationRequest }> {
  const clientId = fields.get('client_id')
  if (fields.repeated === null && clientId === undefined)
    throw new OAuthError('invalid_request', 'client_id is missing')
  const client = fields.repeated === null ? await parts.clients.find(clientId ?? '') : null
  const judged = judgeAuthorization(fields, client, parts.resources)
  if (judged.kind === 'redirect')
    return { answer: backWithError(parts.baseUrl, judged.redirectUri, judged.state, judged.error) }
  if (client === null) throw new OAuthError('invalid_request', 'The client is not known here')
  return { client, asked: judged.request }
}

interface Question {
  readonly client: Client
  readonly asked: AuthorizationRequest
  /** Who is signed in already. */
  readonly owner: Actor | null
  readonly consent: string
}

async function consentPage(exchange: Exchange, { client, asked, owner, consent }: Question): Promise<Answer> {
  const { parts } = exchange
  const types = offeredTypes(parts).flatMap((name) => {
    const type = parts.relationships.types.find(name)
    return type === undefined ? [] : [type]
  })
  const providers = webProviders(parts)
  const page = await parts.pages.authorization({
    base_path: parts.basePath,
    name: parts.identity.name,
    consent,
    form_action: `${parts.basePath}/oauth/authorize`,
    form_method: 'POST',
    client_id: client.clientId,
    client_name: visible(client.name),
    client_host: client.clientId.startsWith('https://') ? new URL(client.clientId).host : '',
    redirect_host: visible(shownTarget(asked.redirectUri)),
    is_local: isLoopback(asked.redirectUri),
    trust_types: types.map(({ name, display_name, description }) => ({
      name,
      display_name,
      description,
      rights: rightsInWords(parts.relationships.effective(name, null)).filter(({ is_granted }) => is_granted),
    })),
    default_trust_type: defaultTypeOf(exchange, client),
    signed_in_as: owner?.creator ?? null,
    oauth_providers: providers.map(({ name, displayName }) => ({ name, display_name: displayName })),
    error: owner === null && providers.length === 0 ? 'Nobody can sign in here: no provider is configured.' : null,
  })
  return html(200, page, {
    'Content-Security-Policy': pagePolicy([...providerTargets(parts), targetOf(asked.redirectUri)]),
  })
}

/** Powerful types are given on the page of an existing connection only, after a typed confirmation. */
function offeredTypes({ config, relationships }: Exchange['parts']): readonly string[] {
  return config.clientTrustTypes.filter((name) => !relationships.types.needsConfirmation(name))
}

/** Never more than the owner was shown, and `mcp_client` unless the client asked for something else that is offered. */
function defaultTypeOf({ parts }: Exchange, client: Client): string {
  const offered = offeredTypes(parts)
  return offered.includes(client.trustType) ? client.trustType : (offered[0] ?? 'mcp_client')
}

/** As a content security policy names it. */
function targetOf(redirectUri: string): string {
  const url = new URL(redirectUri)
  // It has no way to name an IPv6 address.
  return !/^https?:$/.test(url.protocol) || url.host.startsWith('[') ? url.protocol : url.origin
}

/**
 * As who signed in, whatever the creator is called by now. Clients are told it, so whoever only typed an address has to
 * sign in with one that is vouched for.
 */
async function signedInOwner({ request, parts }: Exchange): Promise<Actor | null> {
  const cookie = cookieOf(request, sessionCookieName)
  const found = cookie === null ? null : await parts.tokens.validate(cookie)
  if (found === null || found.chain.kind !== 'session') return null
  const account = await parts.signIn.accounts.find(found.chain.actorId)
  if (account?.verified === false) return null
  const actor = await parts.actors.find(found.chain.actorId)
  return actor === null || account === null ? actor : { ...actor, creator: account.identifier }
}

async function decide(exchange: Exchange): Promise<Answer> {
  return onPage(exchange, async () => {
    const { request, parts } = exchange
    // The form is on a page of this service. Another site that got hold of its values must not answer for the owner.
    if (originOf(request, new URL(parts.baseUrl).origin) === 'other') {
      throw new ServiceError('forged_request', 'Cannot take this answer: another site sent it. Nothing was authorized.')
    }
    const fields = await readForm(exchange)
    if (fields.repeated !== null) throw new OAuthError('invalid_request', `${fields.repeated} is given twice`)
    // What a form of another maker repeats of the request is judged as the request was (spec: both GET and POST).
    const judged = fields.has('client_id') ? await judge(exchange, fields) : null
    if (judged !== null && 'answer' in judged) return judged.answer
    const decision = decisionIn(exchange, fields)
    const browser = browserOf(request)
    const answered = browser === null ? null : await parts.consents.answered(fields.get('consent') ?? '', browser)
    if (browser === null || answered === null) {
      throw new ServiceError(
        'forbidden',
        'Cannot take this answer: the page is too old, was used before, or belongs to another browser. Please begin again in the program.',
      )
    }
    const asked = answered.request
    if (decision.kind === 'deny') {
      const error = new OAuthError('access_denied', 'The owner did not let the client in')
      return backWithError(parts.baseUrl, asked.redirectUri, asked.state, error, 303)
    }
    const { trustType } = decision
    if (decision.kind === 'sign-in') {
      const given = await parts.consents.give({ request: asked, trustType }, browser)
      const redirectTo = `${parts.basePath}${finishPath}?consent=${given}`
      const { provider, hint } = decision
      return redirect(
        303,
        beginAddress(parts, provider, { redirect: redirectTo, ...(hint === undefined ? {} : { hint }) }),
      )
    }
    const owner = await signedInOwner(exchange)
    if (owner === null || owner.id !== answered.ownerId) {
      throw new ServiceError(
        'forbidden',
        'Cannot let the client in: whom the page spoke of is not signed in any more. Please begin again in the program.',
      )
    }
    return backWithCode(exchange, owner, { request: asked, trustType }, 303)
  })
}

type Decision =
  | { readonly kind: 'deny' }
  /** As who is signed in. */
  | { readonly kind: 'allow'; readonly trustType: string }
  /** As who the provider says it is. */
  | {
      readonly kind: 'sign-in'
      readonly trustType: string
      readonly provider: string
      readonly hint: string | undefined
    }

/** Judged before anything is spent. */
function decisionIn({ parts }: Exchange, { get }: OAuthFields): Decision {
  if (get('decision') === 'deny') return { kind: 'deny' }
  const trustType = get('trust_type') ?? 'mcp_client'
  if (!offeredTypes(parts).includes(trustType)) {
    throw new ServiceError('bad_request', 'Cannot let the client in: this kind of relationship is not offered')
  }
  const [provider, hint] = [get('provider'), get('email')]
  if (provider === undefined && hint === undefined) {
    if (get('decision') === 'allow') return { kind: 'allow', trustType }
    throw new OAuthError('invalid_request', 'The form says neither provider nor email nor decision')
  }
  const [byDefault] = webProviders(parts)
  const name = webProviders(parts).find((known) => known.name === provider)?.name
  const chosen = provider === undefined ? byDefault?.name : name
  if (chosen === undefined) throw new ServiceError('bad_request', 'Cannot let the client in: nobody can sign in there')
  return { kind: 'sign-in', trustType, provider: chosen, hint }
}

async function finish(exchange: Exchange): Promise<Answer> {
  return onPage(exchange, async () => {
    const { request, parts, query } = exchange
    const browser = browserOf(request)
    const refusal = query.get('error')
    const owner = refusal === undefined ? await signedInOwner(exchange) : null
    const isOver = owner === null && refusal === undefined
    const given = browser === null || isOver ? null : await parts.consents.given(query.get('consent') ?? '', browser)
    if (given !== null && refusal !== undefined) return backRefused(parts.baseUrl, given.request, refusal)
    if (owner === null || given === null) {
      throw new ServiceError(
        'forbidden',
        'Cannot let the client in: nobody signed in, or this was agreed to elsewhere or too long ago. Please begin again in the program.',
      )
    }
    return backWithCode(exchange, owner, given, 302)
  })
}

/** Nobody signed in: what the client is told of why. */
function backRefused(issuer: string, { redirectUri, state }: AuthorizationRequest, why: string): Answer {
  const error = unforeseen.has(why)
    ? new OAuthError('server_error', 'The provider could not say who the owner is')
    : new OAuthError(
        'access_denied',
        why === 'no_address' ? 'The provider vouches for no address of the owner' : 'The owner did not sign in',
      )
  return backWithError(issuer, redirectUri, state, error)
}

/** Reasons of the sign-in, and codes of providers, that nobody decided. */
const unforeseen: ReadonlySet<string> = new Set([
  'exchange_failed',
  'identity_failed',
  'lookup_failed',
  'server_error',
  'temporarily_unavailable',
])

async function backWithCode(
  { parts }: Exchange,
  owner: Actor,
  given: Parameters<Exchange['parts']['consents']['issueCode']>[1],
  status: 302 | 303,
): Promise<Answer> {
  const { redirectUri, state } = given.request
  const code = await parts.consents.issueCode(owner, given)
  return redirect(
    status,
    withParameters(redirectUri, { code, ...(state === null ? {} : { state }), iss: parts.baseUrl }),
  )
}

function backWithError(
  issuer: string,
  redirectUri: string,
  state: string | null,
  { code, message }: OAuthError,
  status: 302 | 303 = 302,
): Answer {
  const parameters = { error: code, error_description: message, ...(state === null ? {} : { state }), iss: issuer }
  return redirect(status, withParameters(redirectUri, parameters))
}

/** What the client may not be told is told to the person on a page, and to a program in the words of OAuth. */
async function onPage({ request }: Exchange, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    if (!acceptsPages(request)) return oauthFailure(error)
    throw new ServiceError('bad_request', `Cannot let a client in: ${error.message}`)
  }
}

async function token(exchange: Exchange): Promise<Answer> {
  const { request, parts } = exchange
  const receivedAt = parts.now()
  const fields = await readForm(exchange)
  const { tokenEndpoint } = parts
  const { tokens, scope, isRefreshable, members } = await tokenEndpoint.issue(
    fields,
    authorizationOf(exchange),
    receivedAt,
  )
  parts.purge.occasionally()
  parts.log.debug(
    { actorId: tokens.actorId, device: request.header('user-agent')?.slice(0, 80) },
    'A client got tokens',
  )
  return oauthJson(200, {
    access_token: tokens.accessToken,
    token_type: 'Bearer',
    expires_in: tokens.expiresIn,
    ...(isRefreshable ? { refresh_token: tokens.refreshToken } : {}),
    scope,
    ...members,
  })
}

async function revoke(exchange: Exchange): Promise<Answer> {
  await exchange.parts.tokenEndpoint.revoke(await readForm(exchange), authorizationOf(exchange))
  return oauthJson(200, {})
}

/** @throws OAuthError for two of them: neither is believed. */
function authorizationOf({ request }: Exchange): string | undefined {
  if (request.hasRepeated('authorization')) throw new OAuthError('invalid_request', 'Authorization is given twice')
  return request.header('authorization')
}
