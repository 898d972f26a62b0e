/** Sign-in for single-page and mobile applications: their configuration, and the start of a sign-in. */
import { ServiceError } from '../errors.ts'
import type { ProviderDeps } from '../http/dispatch/sign-in-address.ts'
import type { BaseUrl } from '../http/dispatch/urls.ts'
import { type HttpResponse, json } from '../http/edge/response.ts'
import { type BrowserCookie, browserCookie, browserOf } from '../http/edge/cookies/cookies.ts'
import { defineRoute } from '../http/dispatch/define-route.ts'
import type { Route, VisitorExchange } from '../http/dispatch/route.ts'
import { optional, stringField, type ValuesOf } from '../json/fields.ts'
import { spaErrors } from '../http/dispatch/schemas.ts'
import type { SignIn } from '../sign-in/sign-in.ts'
import { spaBody } from './spa-body.ts'
import { deliveryField } from './token-response.ts'
import type { Purge } from '../token/purge.ts'

const configSchema = {
  type: 'object',
  required: ['oauth_enabled', 'oauth_providers', 'endpoints'],
  properties: {
    oauth_enabled: { type: 'boolean' },
    oauth_providers: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          display_name: { type: 'string' },
          authorization_endpoint: { type: 'string' },
          token_endpoint: { type: 'string' },
          userinfo_endpoint: { type: 'string' },
          response_mode: { enum: ['query', 'form_post'] },
          platform: { enum: ['web', 'any'] },
        },
      },
    },
    endpoints: { type: 'object' },
    discovery: { type: 'object' },
  },
} as const

const authorizeFields = {
  provider: optional(stringField('Name of the provider. Default: the first configured provider')),
  redirect_uri: optional(
    stringField('URL to which the browser returns. Without it, the application reads the callback itself'),
  ),
  return_path: optional(stringField('Path at which the application continues'), '/app'),
  token_delivery: deliveryField,
  pkce: optional(
    stringField('`client` when the application keeps the code verifier. Otherwise the service keeps it'),
    'server',
  ),
  code_challenge: optional(stringField('S256 challenge (RFC 7636). Required when `pkce` is `client`')),
  code_challenge_method: optional(stringField('`S256`'), 'S256'),
  trust_type: optional(stringField('Also creates a relationship of this trust type for an AI client')),
}

export interface SpaSignInDeps extends BaseUrl, ProviderDeps {
  readonly signIn: SignIn
  readonly purge: Purge
}

function configRoute(deps: SpaSignInDeps, id: string, path: string): Route {
  return defineRoute({
    id,
    method: 'GET',
    path,
    access: 'service',
    cors: 'spa',
    errors: 'spa',
    summary: 'Lists the providers and the endpoints',
    responses: { 200: { text: 'The configuration for applications', schema: configSchema } },
    handler: () => showConfig(deps),
  })
}

export function spaRoutes(deps: SpaSignInDeps): readonly Route[] {
  return [
    configRoute(deps, 'oauthConfig', '/oauth/config'),
    configRoute(deps, 'spaConfig', '/oauth/spa/config'),
    defineRoute({
      id: 'spaAuthorize',
      method: 'POST',
      path: '/oauth/spa/authorize',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      cors: 'spa',
      errors: 'spa',
      // Safe for cross-site posts: beginning a sign-in grants nothing, and the state decides who may finish it.
      takesForeignPosts: true,
      summary: 'Begins a sign-in for a single-page or mobile application',
      request: spaBody(authorizeFields),
      responses: {
        200: {
          text: 'The URL to which the application sends the browser',
          schema: {
            type: 'object',
            required: ['authorization_url', 'state', 'provider', 'token_delivery'],
            properties: {
              authorization_url: { type: 'string' },
              state: { type: 'string' },
              provider: { type: 'string' },
            },
          },
        },
        ...spaErrors(400, 415, 429, 503),
      },
      handler: async (exchange) => authorize(deps, exchange, await exchange.body()),
    }),
  ]
}

async function showConfig(deps: SpaSignInDeps): Promise<HttpResponse> {
  const { baseUrl, providers } = deps
  await providers.ready()
  const at = (path: string): string => `${baseUrl}${path}`
  const callback = at('/oauth/callback')
  return json(200, {
    oauth_enabled: providers.all.length > 0,
    oauth_providers: providers.all.map((provider) => ({
      name: provider.kind,
      display_name: provider.displayName,
      authorization_endpoint: provider.authorizationEndpoint,
      token_endpoint: provider.tokenEndpoint,
      userinfo_endpoint: provider.userinfoEndpoint,
      response_mode: provider.responseMode,
      platform: provider.platform,
    })),
    pkce_supported: true,
    pkce_methods: ['S256'],
    spa_mode_supported: true,
    token_delivery_modes: ['json', 'cookie', 'hybrid'],
    refresh_token_rotation: true,
    endpoints: {
      config: at('/oauth/config'),
      callback,
      revoke: at('/oauth/revoke'),
      session: at('/oauth/session'),
      logout: at('/oauth/logout'),
      authorize: at('/oauth/spa/authorize'),
      token: at('/oauth/spa/token'),
      mcp_authorize: at('/oauth/authorize'),
      mcp_token: at('/oauth/token'),
      oauth_callback: callback,
    },
    discovery: {
      authorization_server: at('/.well-known/oauth-authorization-server'),
      protected_resource: at('/.well-known/oauth-protected-resource'),
    },
  })
}

async function authorize(
  deps: SpaSignInDeps,
  exchange: VisitorExchange,
  fields: ValuesOf<typeof authorizeFields>,
): Promise<HttpResponse> {
  const { token_delivery: delivery, pkce, trust_type: trustType } = fields
  const mark = markOf(exchange)
  const begun = await deps.signIn.beginForApplication({
    provider: fields.provider,
    target: fields.redirect_uri,
    returnPath: fields.return_path,
    delivery,
    trustType,
    codeChallenge: pkce === 'client' ? challengeOf(fields) : undefined,
    browser: mark?.value ?? null,
  })
  deps.purge.occasionally()
  const answer = json(200, {
    authorization_url: begun.authorizationUrl,
    state: begun.state,
    provider: begun.provider,
    token_delivery: delivery,
    trust_type: trustType,
    ...(pkce === 'server'
      ? { code_challenge: begun.codeChallenge, code_challenge_method: 'S256', pkce_managed_by: 'server' }
      : {}),
  })
  return mark === null ? answer : { ...answer, cookies: [mark.cookie] }
}

/**
 * Returns the cookie to which the sign-in is bound: for a page of this service, or a request with the cookie. Null for a
 * page on another site, whose browser stores no cookie from here, and for a program.
 */
function markOf({ request, visitor }: Pick<VisitorExchange, 'request' | 'visitor'>): BrowserCookie | null {
  return visitor.site === 'same' || browserOf(request) !== null ? browserCookie(request) : null
}

function challengeOf({
  code_challenge: challenge,
  code_challenge_method: method,
}: ValuesOf<typeof authorizeFields>): string {
  if (challenge === undefined) throw new ServiceError('bad_request', 'invalid_request: code_challenge is missing')
  if (method !== 'S256') throw new ServiceError('bad_request', 'invalid_request: code_challenge_method must be S256')
  // RFC 7636 section 4.2: a SHA-256 in base64url.
  if (!/^[\w-]{43}$/.test(challenge))
    throw new ServiceError('bad_request', 'invalid_request: code_challenge must be a SHA-256 in base64url')
  return challenge
}
