/** `/oauth/session`, `/oauth/revoke`, `/oauth/logout` and their twins for single-page applications: the session itself. */
import { ServiceError } from '../../../errors.ts'
import { recogniseToken } from '../../../token/token-text.ts'
import { acceptsPages } from '../../edge/accepts.ts'
import { type Answer, html, json, redirect } from '../../edge/response.ts'
import { antiForgeryValue, browserSecretOf, mayChangeCookies, originOf } from '../../dispatch/anti-forgery.ts'
import { browserOf, clearCookies, clearedCookieNames, clearedSignedInMark } from '../../edge/cookies.ts'
import { noticeCookie } from '../../dispatch/flash-messages.ts'
import { accessTokenOf, bearerOf, sessionCookiesOf } from '../../dispatch/presented-tokens.ts'
import type { Exchange, Method, Route } from '../../dispatch/route.ts'
import { spaErrors } from '../../dispatch/schemas.ts'
import { readSpaFields } from '../../../spa/spa-body.ts'

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
    message: { type: 'string', description: 'Why not' },
  },
} as const

const revocation = {
  'application/json': {
    type: 'object',
    properties: {
      token: { type: 'string', description: 'The one that the request carries, unless given' },
      token_type_hint: { type: 'string' },
    },
  },
} as const

function sessionRoute(id: string, path: string): Route {
  return {
    id,
    method: 'GET',
    path,
    access: 'service',
    cors: 'spa',
    errors: 'spa',
    summary: 'Whether somebody is signed in, and as whom',
    responses: { 200: { text: 'The session, or that there is none', schema: sessionSchema }, ...spaErrors(503) },
    handler: showSession,
  }
}

function revokeRoute(id: string, path: string): Route {
  return {
    id,
    method: 'POST',
    path,
    access: 'service',
    cors: 'spa',
    errors: 'spa',
    limit: ['token/source', 'token/total'],
    summary: 'Ends the session of a token, of either kind (RFC 7009)',
    request: revocation,
    responses: { 200: done, ...spaErrors(400, 403, 503) },
    handler: revoke,
  }
}

function logoutRoute(id: string, method: Method): Route {
  return {
    id,
    method,
    path: '/oauth/logout',
    access: 'service',
    cors: 'spa',
    page: true,
    ...(method === 'GET' ? { takesNoHead: true } : {}),
    summary: method === 'GET' ? 'Signs out; asks first where another site sent the browser' : 'Signs out',
    responses: { 200: done, 302: 'Signed out: to the front page' },
    handler: logout,
  }
}

export const sessionRoutes: readonly Route[] = [
  sessionRoute('getSession', '/oauth/session'),
  sessionRoute('getSpaSession', '/oauth/spa/session'),
  revokeRoute('revokeToken', '/oauth/revoke'),
  revokeRoute('revokeSpaToken', '/oauth/spa/revoke'),
  logoutRoute('askLogout', 'GET'),
  logoutRoute('logout', 'POST'),
  {
    id: 'spaLogout',
    method: 'POST',
    path: '/oauth/spa/logout',
    access: 'service',
    cors: 'spa',
    errors: 'spa',
    summary: 'Signs out, with a token or without',
    responses: { 200: done, ...spaErrors(403, 503) },
    handler: async (exchange) => {
      await signOut(exchange)
      return signedOut(exchange)
    },
  },
  {
    id: 'exchangeSpaSession',
    method: 'GET',
    path: '/oauth/spa/session/:session',
    access: 'service',
    limit: ['ticket/source', 'ticket/total'],
    cors: 'session',
    errors: 'spa',
    summary: 'The tokens of a one-time session id, once',
    responses: { 200: done, ...spaErrors(404, 429, 503) },
    handler: exchangeSession,
  },
  {
    id: 'spaCallback',
    method: 'GET',
    path: '/oauth/spa/callback',
    access: 'service',
    cors: 'spa',
    errors: 'spa',
    summary: 'Not the address that providers come back to',
    responses: spaErrors(400),
    handler: () => {
      throw new ServiceError('bad_request', 'Cannot end a sign-in here: providers come back to /oauth/callback')
    },
  },
]

async function showSession({ parts, request }: Exchange): Promise<Answer> {
  const token = accessTokenOf(request)
  const found = token === null ? null : await parts.tokens.validate(token)
  if (found?.chain.kind !== 'session') {
    const message = token === null ? 'Nobody is signed in' : 'The session has ended'
    return json(200, { authenticated: false, message })
  }
  const actor = await parts.actors.find(found.chain.actorId)
  if (actor === null) return json(200, { authenticated: false, message: 'The session has ended' })
  parts.sessionUses.note(found.chain)
  const expiresAt = Math.floor(found.expiresAt / 1000)
  return json(200, {
    authenticated: true,
    actor_id: actor.id,
    identifier: actor.creator,
    expires_at: expiresAt,
    expires_in: Math.max(0, Math.floor((found.expiresAt - parts.now()) / 1000)),
  })
}

/** Of any text it is told that it is revoked, so that nobody learns which ones were tokens. The hint is not needed. */
async function revoke(exchange: Exchange): Promise<Answer> {
  const { parts, request } = exchange
  const named = (await readSpaFields(request, parts.config)).get('token')
  const token = named ?? accessTokenOf(request) ?? sessionCookiesOf(request)[0]
  if (token === undefined) throw new ServiceError('bad_request', 'Cannot revoke: token is missing')
  await parts.sessions.signOut([token])
  return { ...json(200, { success: true, message: 'The token is revoked' }), cookies: clearing(exchange) }
}

async function logout(exchange: Exchange): Promise<Answer> {
  const { parts, request } = exchange
  const isOfBrowser = browserSecretOf(request) !== null
  if (isOfBrowser && request.method !== 'POST' && originOf(request, new URL(parts.baseUrl).origin) !== 'same') {
    return askFirst(exchange)
  }
  const hasCookie = sessionCookiesOf(request).length > 0
  await signOut(exchange)
  if (!hasCookie) {
    const isForPerson = acceptsPages(request) && !asksForJson(exchange)
    return isForPerson ? toFrontPage(exchange, clearing(exchange)) : signedOut(exchange)
  }
  if (!asksForJson(exchange)) return toFrontPage(exchange, clearCookies())
  const cookies = [...clearCookies(), ...clearedSignedInMark(request)]
  return { ...json(200, { success: true, message: 'You are signed out', redirect_url: `${parts.basePath}/` }), cookies }
}

/** @param cleared Empty where another site sent the browser, which stays signed in as far as cookies did not arrive. */
function toFrontPage({ parts, request }: Exchange, cleared: readonly string[]): Answer {
  const said = cleared.length === 0 ? [] : [...clearedSignedInMark(request), noticeCookie('youAreSignedOut')]
  return { ...redirect(302, `${parts.baseUrl}/`), cookies: [...cleared, ...said] }
}

/** Everything of a session that the request carries. */
function signOut({ parts, request }: Exchange): Promise<void> {
  const bearer = bearerOf(request)
  const isOurs = bearer !== null && recogniseToken(bearer)?.chain === 'session'
  return parts.sessions.signOut([...(isOurs ? [bearer] : []), ...sessionCookiesOf(request)])
}

function signedOut(exchange: Exchange): Answer {
  const { parts, method } = exchange
  const answer = json(200, {
    success: true,
    message: 'You are signed out',
    redirect_url: `${parts.baseUrl}/`,
    method,
    cleared_cookies: clearedCookieNames,
  })
  return { ...answer, cookies: clearing(exchange) }
}

/** Another site may make a browser come without its cookies, to be rid of them: they stay. */
function clearing({ parts, request }: Exchange): readonly string[] {
  const isTrustedOrigin = (origin: string): boolean => parts.config.spaCorsOrigins.includes(origin)
  const isJudged = browserSecretOf(request) !== null
  return isJudged || mayChangeCookies(request, { origin: new URL(parts.baseUrl).origin, isTrustedOrigin })
    ? clearCookies()
    : []
}

function asksForJson({ request }: Exchange): boolean {
  return (
    request.header('content-type')?.startsWith('application/json') === true ||
    request.header('x-requested-with')?.toLowerCase() === 'xmlhttprequest'
  )
}

/** A link that another site planted must not sign anybody out: one button says that it is meant. */
async function askFirst({ parts, request }: Exchange): Promise<Answer> {
  if (!acceptsPages(request)) {
    throw new ServiceError(
      'forged_request',
      'Cannot sign out: nothing shows that a page of this service asks; send a POST',
    )
  }
  const page = await parts.pages.signOut({
    base_path: parts.basePath,
    name: parts.identity.name,
    csrf_token: antiForgeryValue(browserSecretOf(request) ?? ''),
  })
  return html(200, page)
}

async function exchangeSession({ parts, request, params }: Exchange): Promise<Answer> {
  const id = params['session'] ?? ''
  const isOwnPage = originOf(request, new URL(parts.baseUrl).origin) === 'same'
  const asker = [id, markOf(request), isOwnPage ? { browser: browserOf(request) } : null] as const
  const found = await (request.method === 'HEAD'
    ? parts.spaSessions.find(...asker)
    : parts.spaSessions.exchange(...asker))
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

/** What tells a browser from others where its cookies do not arrive, well enough for ten seconds. */
function markOf(request: Exchange['request']): string {
  const seen = [request.header('user-agent'), request.header('origin'), request.remoteAddress]
  return browserOf(request) ?? JSON.stringify(seen.map((value) => value ?? ''))
}
