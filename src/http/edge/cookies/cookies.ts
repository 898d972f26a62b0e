/**
 * The cookies of the service. All are Secure and HttpOnly, have no Domain, and are cleared with the attributes they were set
 * with. `cookie-names.ts` translates the names, and removes `Secure` for http in development.
 */
import { cookieValue } from '../../../auth/credentials.ts'
import { randomToken } from '../../../secret/random.ts'
import type { IssuedTokens } from '../../../token/chain.ts'
import type { HttpRequest, RequestHead } from '../request.ts'

/** Binds a started flow to the browser. The prefix prevents subdomains and plain http from setting the cookie (RFC 6265bis). */
export const browserCookieName = '__Host-browser'

type SameSite = 'Lax' | 'None'

export function cookie(name: string, value: string, maxAgeSeconds: number | null, sameSite: SameSite = 'Lax'): string {
  const maxAge = maxAgeSeconds === null ? '' : `; Max-Age=${maxAgeSeconds}`
  return `${name}=${value}${maxAge}; Path=/; Secure; HttpOnly; SameSite=${sameSite}`
}

export function endedCookie(name: string): string {
  return cookie(name, '', 0)
}

/**
 * Marks a browser that was signed in. The session cookie expires with the access token; without the mark, an expired
 * session would look like no session. The mark grants no access.
 */
const signedInMarkName = '__Host-signed-in'

export function signedInMark({ refreshExpiresIn }: Pick<IssuedTokens, 'refreshExpiresIn'>): string {
  return cookie(signedInMarkName, '1', refreshExpiresIn)
}

export function hasSignedInMark(request: RequestHead): boolean {
  return cookieOf(request, signedInMarkName) !== null
}

/** Clears the mark if the browser has it. */
export function clearedSignedInMark(request: RequestHead): readonly string[] {
  return hasSignedInMark(request) ? [cookie(signedInMarkName, '', 0)] : []
}

/** Names the addresses that the browser has proven, by marks that only this service can read (sign-in/known-browser.ts). */
const knownBrowserName = '__Host-known-browser'
const yearSeconds = 31_536_000

export function knownBrowserCookie(marks: string): string {
  return cookie(knownBrowserName, marks, yearSeconds)
}

export function knownBrowserOf(request: RequestHead): string | null {
  return cookieOf(request, knownBrowserName)
}

export function cookieOf(request: RequestHead, name: string): string | null {
  return cookieValue(request.header('cookie'), name) ?? null
}

export interface BrowserCookie {
  /** The random identifier of the browser, 256 bits. */
  readonly value: string
  /** The Set-Cookie value for the response. It is a session cookie, which the browser deletes when it closes. */
  readonly cookie: string
}

/**
 * Returns the mark of the browser and creates one if it is missing.
 *
 * @param sameSite `None` when another site returns the browser by a posted form (`response_mode=form_post`).
 */
export function browserCookie(request: HttpRequest, sameSite: SameSite = 'Lax'): BrowserCookie {
  const value = browserOf(request) ?? randomToken(32)
  return { value, cookie: cookie(browserCookieName, value, null, sameSite) }
}

/** Returns the identifier of the browser; null when its mark is missing or malformed. */
export function browserOf(request: HttpRequest): string | null {
  const value = cookieOf(request, browserCookieName)
  return value !== null && /^[\w-]{43}$/.test(value) ? value : null
}
