/** Reads the credential of a request. `authenticate.ts` checks it. */
import type { Via } from '../caller.ts'

export type Credential =
  | { readonly kind: 'none' }
  /** A malformed Authorization header. The request fails, even when it also has a valid cookie. */
  | { readonly kind: 'malformed'; readonly why: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | { readonly kind: 'bearer'; readonly token: string; readonly via: Extract<Via, 'bearer' | 'cookie'> }

export const sessionCookie = 'oauth_token'

/** The name of a session cookie that no other service at the same host has. */
export function ownSessionCookie(name: string): string {
  return `__Host-${name}`
}

export function readCredential(
  authorization: string | undefined,
  cookies: string | undefined,
  isRepeated: boolean,
): Credential {
  if (isRepeated) return { kind: 'malformed', why: 'Authorization was sent twice' }
  if (authorization === undefined) return readCookie(cookies)
  const [, scheme = '', value = ''] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+) +([^ ]+) *$/.exec(authorization) ?? []
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return { kind: 'bearer', token: value, via: 'bearer' }
    case 'basic':
      return readBasic(value)
    case '':
      return { kind: 'malformed', why: 'Authorization must be a scheme and a value' }
    default:
      return { kind: 'malformed', why: 'the authentication scheme is not supported' }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads Basic credentials as UTF-8, split at the first colon, so that a passphrase may contain colons (RFC 7617). */
function readBasic(value: string): Credential {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return { kind: 'malformed', why: 'the Basic value is not base64' }
  let decoded: string
  try {
    decoded = utf8.decode(Buffer.from(value, 'base64'))
  } catch {
    return { kind: 'malformed', why: 'the Basic value is not UTF-8' }
  }
  const colon = decoded.indexOf(':')
  if (colon < 0) return { kind: 'malformed', why: 'the Basic value has no colon' }
  return { kind: 'basic', user: decoded.slice(0, colon), password: decoded.slice(colon + 1) }
}

function readCookie(cookies: string | undefined): Credential {
  const token = sessionCookieValue(cookies, sessionCookie)
  return token === undefined ? { kind: 'none' } : { kind: 'bearer', token, via: 'cookie' }
}

/**
 * Returns the value of the cookie with this name. Undefined also for several of them: another host of the domain may have set
 * one for another path, and the browser does not say which.
 */
export function cookieValue(cookies: string | undefined, name: string): string | undefined {
  const [found, ...others] = valuesOf(cookies, name)
  return others.length === 0 ? found : undefined
}

function valuesOf(cookies: string | undefined, name: string): string[] {
  if (cookies === undefined) return []
  return cookies.split(';').flatMap((pair) => {
    const equals = pair.indexOf('=')
    const value = withoutSpaces(pair.slice(equals + 1))
    return equals < 0 || withoutSpaces(pair.slice(0, equals)) !== name || value === '' ? [] : [value]
  })
}

/**
 * Removes spaces and tabs at both ends, the white space of HTTP (RFC 9110 section 5.6.3). `trim` also removes a no-break space.
 * Another host of the domain could then set a cookie whose name the browser does not take for one with `__Host-`.
 */
export function withoutSpaces(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isSpace(text[from])) from += 1
  while (to > from && isSpace(text[to - 1])) to -= 1
  return text.slice(from, to)
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}

/** Returns true also for several cookies with this name, none of which has an effect. */
export function hasCookie(cookies: string | undefined, name: string): boolean {
  return valuesOf(cookies, name).length > 0
}

/** Returns the value of a cookie of a session: of the own name, else of the name that services at the same host share. */
export function sessionCookieValue(cookies: string | undefined, name: string): string | undefined {
  const own = ownSessionCookie(name)
  return hasCookie(cookies, own) ? cookieValue(cookies, own) : cookieValue(cookies, name)
}
