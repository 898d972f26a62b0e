/** The cookies of the service: all of them Secure and HttpOnly, without a Domain, cleared as they were set. */
import { cookieValue, sessionCookie as sessionCookieName } from '../../auth/credentials.ts'
import { randomToken } from '../../secret/random.ts'
import type { IssuedTokens } from '../../token/chain.ts'
import type { HttpRequest } from './request.ts'

export const accessCookieName = 'access_token'
export const refreshCookieName = 'refresh_token'

/** Binds what a browser began to that browser. The prefix keeps sub-domains and plain http from planting one (RFC 6265bis). */
const browserCookieName = '__Host-browser'

/** Everything that a sign-in may have set, here or in another implementation. */
export const clearedCookieNames: readonly string[] = [
  sessionCookieName,
  accessCookieName,
  refreshCookieName,
  'oauth_refresh_token',
  'session_id',
]

type SameSite = 'Lax' | 'None'

function cookie(name: string, value: string, maxAgeSeconds: number | null, sameSite: SameSite = 'Lax'): string {
  const maxAge = maxAgeSeconds === null ? '' : `; Max-Age=${maxAgeSeconds}`
  return `${name}=${value}${maxAge}; Path=/; Secure; HttpOnly; SameSite=${sameSite}`
}

/** Of a web sign-in. It ends with the access token. */
export function newSessionCookie({ accessToken, expiresIn }: Pick<IssuedTokens, 'accessToken' | 'expiresIn'>): string {
  return cookie(sessionCookieName, accessToken, expiresIn)
}

/** Takes the cookie of a session that is over away. */
export function endedSessionCookie(): string {
  return cookie(sessionCookieName, '', 0)
}

/**
 * A mark that the browser was signed in: the session cookie ends with the access token, and the browser then sends nothing
 * by which an expired session differs from none. The mark opens nothing.
 */
const signedInMarkName = '__Host-signed-in'

export function signedInMark({ refreshExpiresIn }: Pick<IssuedTokens, 'refreshExpiresIn'>): string {
  return cookie(signedInMarkName, '1', refreshExpiresIn)
}

export function hasSignedInMark(request: HttpRequest): boolean {
  return cookieOf(request, signedInMarkName) !== null
}

/** Removes the mark from a browser that has it. */
export function clearedSignedInMark(request: HttpRequest): readonly string[] {
  return hasSignedInMark(request) ? [cookie(signedInMarkName, '', 0)] : []
}

export function refreshCookie({
  refreshToken,
  refreshExpiresIn,
}: Pick<IssuedTokens, 'refreshToken' | 'refreshExpiresIn'>): string {
  return cookie(refreshCookieName, refreshToken, refreshExpiresIn)
}

export type TokenDelivery = 'json' | 'cookie' | 'hybrid'

/** What goes into cookies: nothing, everything, or what scripts must not read. */
export function deliveryCookies(tokens: IssuedTokens, delivery: TokenDelivery): readonly string[] {
  switch (delivery) {
    case 'json':
      return []
    case 'hybrid':
      return [refreshCookie(tokens)]
    case 'cookie':
      return [
        cookie(accessCookieName, tokens.accessToken, tokens.expiresIn),
        newSessionCookie(tokens),
        refreshCookie(tokens),
      ]
    default:
      return delivery satisfies never
  }
}

/** Ends every cookie of a sign-in in the browser. */
export function clearCookies(): readonly string[] {
  return clearedCookieNames.map((name) => cookie(name, '', 0))
}

export function cookieOf(request: HttpRequest, name: string): string | null {
  return cookieValue(request.header('cookie'), name) ?? null
}

export interface BrowserCookie {
  /** What identifies the browser: 256 bits at random. */
  readonly value: string
  /** To be sent with the answer, so that the browser has it when it comes back. It lasts as long as the browser runs. */
  readonly cookie: string
}

/**
 * The browser's mark, made when it has none yet.
 *
 * @param sameSite `None` where the browser comes back by a form that another site posts (`response_mode=form_post`).
 */
export function browserCookie(request: HttpRequest, sameSite: SameSite = 'Lax'): BrowserCookie {
  const value = browserOf(request) ?? randomToken(32)
  return { value, cookie: cookie(browserCookieName, value, null, sameSite) }
}

/** Null for a browser that has no mark, or none of ours. */
export function browserOf(request: HttpRequest): string | null {
  const value = cookieOf(request, browserCookieName)
  return value !== null && /^[\w-]{43}$/.test(value) ? value : null
}
