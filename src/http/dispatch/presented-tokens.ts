/** The tokens of a session that a request carries, wherever they stand. */
import { cookieValue, readCredential, sessionCookie } from '../../auth/credentials.ts'
import { accessCookieName, refreshCookieName } from '../edge/cookies.ts'
import type { Incoming } from '../edge/request.ts'

/** Null without one, and for a header that holds anything else. */
export function bearerOf(request: Incoming): string | null {
  const credential = readCredential(request.header('authorization'), undefined, request.hasRepeated('authorization'))
  return credential.kind === 'bearer' ? credential.token : null
}

/** The access token that counts: the header's where there is a header, else a cookie's. */
export function accessTokenOf(request: Incoming): string | null {
  if (request.header('authorization') !== undefined) return bearerOf(request)
  return cookiesOf(request, [accessCookieName, sessionCookie])[0] ?? null
}

/** Those of a sign-in, access and refresh. */
export function sessionCookiesOf(request: Incoming): readonly string[] {
  return cookiesOf(request, [sessionCookie, accessCookieName, refreshCookieName])
}

function cookiesOf(request: Incoming, names: readonly string[]): string[] {
  const cookies = request.header('cookie')
  return names.map((name) => cookieValue(cookies, name)).filter((value) => value !== undefined)
}
