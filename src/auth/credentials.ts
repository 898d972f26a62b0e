/** Reads the credential of a request; whether it is a good one is decided elsewhere. */
import type { Via } from '../caller.ts'

export type Credential =
  | { readonly kind: 'none' }
  /** An Authorization header that cannot be read: it counts as an attempt, and no cookie takes its place. */
  | { readonly kind: 'malformed'; readonly why: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | { readonly kind: 'bearer'; readonly token: string; readonly via: Extract<Via, 'bearer' | 'cookie'> }

export const sessionCookie = 'oauth_token'

export function readCredential(
  authorization: string | undefined,
  cookies: string | undefined,
  isRepeated: boolean,
): Credential {
  if (isRepeated) return { kind: 'malformed', why: 'Authorization is given twice' }
  if (authorization === undefined) return readCookie(cookies)
  const [, scheme = '', value = ''] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+) +([^ ]+) *$/.exec(authorization) ?? []
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return { kind: 'bearer', token: value, via: 'bearer' }
    case 'basic':
      return readBasic(value)
    case '':
      return { kind: 'malformed', why: 'Authorization is not a scheme and a value' }
    default:
      return { kind: 'malformed', why: 'the authentication scheme is not known' }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** RFC 7617: UTF-8, split at the first colon only, so that a passphrase may hold colons. */
function readBasic(value: string): Credential {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return { kind: 'malformed', why: 'Basic is not base64' }
  let decoded: string
  try {
    decoded = utf8.decode(Buffer.from(value, 'base64'))
  } catch {
    return { kind: 'malformed', why: 'Basic is not UTF-8' }
  }
  const colon = decoded.indexOf(':')
  if (colon < 0) return { kind: 'malformed', why: 'Basic has no colon' }
  return { kind: 'basic', user: decoded.slice(0, colon), password: decoded.slice(colon + 1) }
}

function readCookie(cookies: string | undefined): Credential {
  const token = cookieValue(cookies, sessionCookie)
  return token === undefined ? { kind: 'none' } : { kind: 'bearer', token, via: 'cookie' }
}

/** Of the first cookie of that name that has a value. */
export function cookieValue(cookies: string | undefined, name: string): string | undefined {
  for (const pair of cookies?.split(';') ?? []) {
    const [key = '', value = ''] = pair.trim().split(/=(.*)/s)
    if (key === name && value !== '') return value
  }
  return undefined
}
