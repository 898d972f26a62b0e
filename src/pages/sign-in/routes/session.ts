/** `/oauth/session`, `/oauth/revoke`, `/oauth/logout` and their twins for single-page applications: the session itself. */
import type { Actors } from '../../../actor/actors.ts'
import { ServiceError } from '../../../errors.ts'
import { optional, stringField } from '../../../json/fields.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../shared/site.ts'
import type { PageSet } from '../../shared/page-set.ts'
import type { Uses } from '../../../token/last-used.ts'
import type { Sessions } from '../../../token/sessions.ts'
import type { SpaSessions } from '../../../token/spa-sessions.ts'
import { recognizeToken } from '../../../token/token-text.ts'
import type { BaseUrl } from '../../../http/dispatch/urls.ts'
import { acceptsPages } from '../../../http/edge/accepts.ts'
import { type HttpResponse, html, json, redirect } from '../../../http/edge/response.ts'
import { browserOf, clearedSignedInMark } from '../../../http/edge/cookies/cookies.ts'
import type { SessionCookies } from '../../../http/edge/cookies/session-cookies.ts'
import { noticeCookie } from '../../../http/dispatch/flash-messages.ts'
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import type { Exchange, Method, Route, VisitorExchange } from '../../../http/dispatch/route.ts'
import { spaErrors } from '../../../http/dispatch/schemas.ts'
import { spaBody } from '../../../spa/spa-body.ts'

const done = {
  text: 'Done',
  schema: { type: 'object', properties: { success: { const: true }, message: { type: 'string' } } },
} as const

const sessionSchema = {
  type: 'object',
  required: ['authenticated'],
  properties: {
    authenticated: { type: 'boolean' },
    actor_id: { type: 'string' },
    identifier: { type: 'string' },
    expires_at: { type: 'integer', description: 'Unix seconds' },
    expires_in: { type: 'integer', description: 'Seconds' },
    message: { type: 'string', description: 'Why no user is signed in' },
  },
} as const

const revocation = spaBody({
  token: optional(stringField('The one that the request carries, unless given')),
  token_type_hint: optional(stringField('Not needed')),
})

function sessionRoute(deps: SessionRouteDeps, id: string, path: string): Route {
  return defineRoute({
    id,
    method: 'GET',
    path,
    access: 'visitor',
    cors: 'spa',
    errors: 'spa',
    summary: 'Returns the session of the signed-in user',
    responses: { 200: { text: 'The session, or `"authenticated": false`', schema: sessionSchema }, ...spaErrors(503) },
    handler: (exchange) => showSession(deps, exchange),
  })
}

function revokeRoute(deps: SessionRouteDeps, id: string, path: string): Route {
  return defineRoute({
    id,
    method: 'POST',
    path,
    access: 'visitor',
    cors: 'spa',
    errors: 'spa',
    limit: ['token/source', 'token/total'],
    summary: 'Ends the session of a token, of either kind (RFC 7009)',
    request: revocation,
    // RFC 6749 section 3.2: unrecognized parameters are ignored.
    unknownQuery: 'ignored',
    responses: { 200: done, ...spaErrors(400, 403, 503) },
    handler: async (exchange) => revoke(deps, exchange, (await exchange.body()).token),
  })
}

function logoutRoute(deps: SessionRouteDeps, id: string, method: Method): Route {
  return defineRoute({
    id,
    method,
    path: '/oauth/logout',
    access: 'visitor',
    cors: 'spa',
    page: true,
    ...(method === 'GET' ? { takesNoHead: true } : {}),
    summary: method === 'GET' ? 'Signs out; asks first where another site sent the browser' : 'Signs out',
    responses: { 200: done, 302: 'Signed out: to the front page' },
    handler: (exchange) => logout(deps, exchange),
  })
}

export interface SessionRouteDeps extends BaseUrl, SiteDeps {
  readonly actors: Pick<Actors, 'find'>
  readonly sessions: Sessions
  readonly spaSessions: SpaSessions
  readonly sessionUses: Uses
  /** Unix milliseconds, by the store's clock. */
  readonly now: () => number
  readonly pages: Pick<PageSet, 'signOut'>
}

export function sessionRoutes(deps: SessionRouteDeps): readonly Route[] {
  return [
    sessionRoute(deps, 'getSession', '/oauth/session'),
    sessionRoute(deps, 'getSpaSession', '/oauth/spa/session'),
    revokeRoute(deps, 'revokeToken', '/oauth/revoke'),
    revokeRoute(deps, 'revokeSpaToken', '/oauth/spa/revoke'),
    logoutRoute(deps, 'askLogout', 'GET'),
    logoutRoute(deps, 'logout', 'POST'),
    defineRoute({
      id: 'spaLogout',
      method: 'POST',
      path: '/oauth/spa/logout',
      access: 'visitor',
      cors: 'spa',
      errors: 'spa',
      summary: 'Signs out, with a token or without',
      responses: { 200: done, ...spaErrors(403, 503) },
      handler: async (exchange) => {
        const own = await exchange.visitor.sessionCookies()
        await signOut(deps, exchange)
        return signedOut(deps, exchange, own)
      },
    }),
    defineRoute({
      id: 'exchangeSpaSession',
      method: 'GET',
      path: '/oauth/spa/session/:session',
      access: 'visitor',
      limit: ['ticket/source', 'ticket/total'],
      cors: 'session',
      errors: 'spa',
      summary: 'Exchanges a one-time session id for the tokens',
      responses: { 200: done, ...spaErrors(404, 429, 503) },
      handler: (exchange) => exchangeSession(deps, exchange),
    }),
    defineRoute({
      id: 'spaCallback',
      method: 'GET',
      path: '/oauth/spa/callback',
      access: 'service',
      cors: 'spa',
      errors: 'spa',
      summary: 'Always 400: the callback of providers is `/oauth/callback`',
      // Every request is refused, with the address that providers come back to.
      unknownQuery: 'ignored',
      responses: spaErrors(400),
      handler: () => {
        throw new ServiceError('bad_request', 'Cannot end a sign-in here: providers come back to /oauth/callback')
      },
    }),
  ]
}

async function showSession(deps: SessionRouteDeps, { visitor }: VisitorExchange): Promise<HttpResponse> {
  const found = await visitor.session()
  if (found === null) {
    const message = visitor.accessTokens.length === 0 ? 'No user is signed in' : 'The session has ended'
    return json(200, { authenticated: false, message })
  }
  const actor = await deps.actors.find(found.chain.actorId)
  if (actor === null) return json(200, { authenticated: false, message: 'The session has ended' })
  deps.sessionUses.note(found.chain)
  const expiresAt = Math.floor(found.expiresAt / 1000)
  return json(200, {
    authenticated: true,
    actor_id: actor.id,
    identifier: actor.creator,
    expires_at: expiresAt,
    expires_in: Math.max(0, Math.floor((found.expiresAt - deps.now()) / 1000)),
  })
}

/** Revokes a token. The response is the same for every string, so that it does not reveal which strings were tokens. */
async function revoke(
  deps: SessionRouteDeps,
  exchange: VisitorExchange,
  named: string | undefined,
): Promise<HttpResponse> {
  const { visitor } = exchange
  const carried = exchange.request.header('authorization') === undefined ? visitor.cookies : visitor.accessTokens
  const presented = named === undefined ? carried : [named]
  if (presented.length === 0) throw new ServiceError('bad_request', 'Cannot revoke: token is missing')
  const own = await visitor.sessionCookies()
  await deps.sessions.signOut(presented)
  return { ...json(200, { success: true, message: 'The token is revoked' }), cookies: own.cleared() }
}

async function logout(deps: SessionRouteDeps, exchange: VisitorExchange): Promise<HttpResponse> {
  const { request, visitor } = exchange
  if (visitor.csrfToken !== null && request.method !== 'POST' && visitor.site !== 'same') {
    return askFirst(deps, exchange)
  }
  const hasCookie = visitor.cookies.length > 0
  const own = await visitor.sessionCookies()
  await signOut(deps, exchange)
  if (!hasCookie) {
    const isForPerson = acceptsPages(request) && !asksForJson(exchange)
    if (!isForPerson) return signedOut(deps, exchange, own)
    return toFrontPage(deps, exchange, visitor.csrfToken !== null || visitor.mayChangeCookies ? own.cleared() : null)
  }
  if (!asksForJson(exchange)) return toFrontPage(deps, exchange, own.cleared())
  const cookies = [...own.cleared(), ...clearedSignedInMark(request)]
  return { ...json(200, { success: true, message: 'You are signed out', redirect_url: `${deps.basePath}/` }), cookies }
}

/** @param cleared Null when another site sent the browser; its cookies then stay. */
function toFrontPage(deps: SessionRouteDeps, { request }: Exchange, cleared: readonly string[] | null): HttpResponse {
  const cookies = cleared === null ? [] : [...cleared, ...clearedSignedInMark(request), noticeCookie('youAreSignedOut')]
  return { ...redirect(302, `${deps.baseUrl}/`), cookies }
}

/** Ends every session that the request carries. */
function signOut(deps: SessionRouteDeps, { visitor }: VisitorExchange): Promise<void> {
  const { bearer, cookies } = visitor
  const isOurs = bearer !== null && recognizeToken(bearer)?.chain === 'session'
  return deps.sessions.signOut([...(isOurs ? [bearer] : []), ...cookies])
}

function signedOut(deps: SessionRouteDeps, { method }: VisitorExchange, own: SessionCookies): HttpResponse {
  const answer = json(200, {
    success: true,
    message: 'You are signed out',
    redirect_url: `${deps.baseUrl}/`,
    method,
    cleared_cookies: own.namesOf(),
  })
  return { ...answer, cookies: own.cleared() }
}

function asksForJson({ request }: Exchange): boolean {
  return (
    request.header('content-type')?.startsWith('application/json') === true ||
    request.header('x-requested-with')?.toLowerCase() === 'xmlhttprequest'
  )
}

/** Asks for confirmation by a button, because a planted link must not sign the user out. */
async function askFirst(deps: SessionRouteDeps, { request, visitor }: VisitorExchange): Promise<HttpResponse> {
  if (!acceptsPages(request)) {
    throw new ServiceError(
      'forged_request',
      'Cannot sign out: the request does not prove that a page of this service sent it; send a POST',
    )
  }
  const language = deps.languages.of(request)
  const page = await deps.pages.signOut({
    ...siteValues(deps, language),
    csrf_token: visitor.csrfToken ?? '',
  })
  return inLanguage(html(200, page), language)
}

async function exchangeSession(
  deps: SessionRouteDeps,
  { request, params: { session: id }, visitor }: VisitorExchange<'session'>,
): Promise<HttpResponse> {
  const asker = [id, markOf(request), visitor.site === 'same' ? { browser: browserOf(request) } : null] as const
  const found = await (request.method === 'HEAD'
    ? deps.spaSessions.find(...asker)
    : deps.spaSessions.exchange(...asker))
  if (found === null) {
    throw new ServiceError('not_found', 'Cannot exchange this session id: it is unknown, has expired, or was exchanged')
  }
  const { tokens, redirectUrl, delivery } = found
  return json(200, {
    success: true,
    actor_id: tokens.actorId,
    email: tokens.identifier,
    access_token: tokens.accessToken,
    token_type: 'Bearer',
    expires_in: tokens.expiresIn,
    expires_at: tokens.expiresAt,
    redirect_url: redirectUrl,
    ...(delivery === 'hybrid'
      ? {}
      : { refresh_token: tokens.refreshToken, refresh_token_expires_in: tokens.refreshExpiresIn }),
  })
}

/** Identifies a browser whose cookies do not arrive, well enough for ten seconds. */
function markOf(request: Exchange['request']): string {
  const seen = [request.header('user-agent'), request.header('origin'), request.remoteAddress]
  return browserOf(request) ?? JSON.stringify(seen.map((value) => value ?? ''))
}
