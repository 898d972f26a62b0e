/**
 * Prevents cross-site request forgery (CSRF). A request with a cookie must prove that a page of this service sent it. A
 * bearer token needs no proof, because browsers never add one. Browsers add remembered Basic credentials to requests of any
 * site, while programs send no origin: a request with Basic is refused when the browser names another site.
 */
import { createHmac } from 'node:crypto'
import { cookieValue, ownSessionCookie, sessionCookie } from '../../auth/credentials.ts'
import { ServiceError } from '../../errors.ts'
import { sameSecret } from '../../secret/hash.ts'
import { type BodyLimits, isMultipart, readFormText } from '../edge/body.ts'
import type { HttpRequest, RequestHead } from '../edge/request.ts'
import { maxFormFields, Params } from '../edge/params.ts'

/** The hidden field of every form, and the header of scripts. */
const antiForgeryField = 'csrf_token'
const antiForgeryHeader = 'x-csrf-token'

/**
 * Returns the CSRF token for a secret of the browser (its session, or its browser cookie). Only pages of this service
 * contain the token, and it does not reveal the secret.
 */
export function antiForgeryValue(browserSecret: string): string {
  return createHmac('sha256', browserSecret).update('anti-forgery').digest('base64url')
}

/**
 * The cookies of a session, for all deliveries of tokens. A request with one of them needs a CSRF token. Own names are first:
 * another service at the same host knows the values of the names that services share.
 */
const sharedCookies = [sessionCookie, 'access_token', 'refresh_token']
const sessionCookies = [...sharedCookies.map(ownSessionCookie), ...sharedCookies]

/** Returns the secret that the browser's forms are bound to; null when no cookie can be the credential. */
export function browserSecretOf(request: RequestHead): string | null {
  if (request.header('authorization') !== undefined) return null
  const cookies = request.header('cookie')
  if (cookies === undefined) return null
  for (const name of sessionCookies) {
    const value = cookieValue(cookies, name)
    if (value !== undefined) return value
  }
  return null
}

/** Returns the origin of a request as the browser reports it; `unknown` when the headers do not show it. */
export function requestOriginOf(request: RequestHead, serviceOrigin: string): 'same' | 'other' | 'unknown' {
  switch (request.header('sec-fetch-site')) {
    case 'same-origin':
    // The user typed the URL or opened a bookmark.
    case 'none':
      return 'same'
    case 'same-site':
    case 'cross-site':
      return 'other'
    default: {
      // Older browsers send only Origin. Pages of this service send `null`, because of their referrer policy (RFC 6454, 7.3).
      const origin = request.header('origin')
      if (origin === undefined || origin === 'null') return 'unknown'
      return origin === serviceOrigin ? 'same' : 'other'
    }
  }
}

export interface ForgeryRule extends BodyLimits {
  /** The origin of this service: scheme, host and port. */
  readonly origin: string
  /** Returns true for an origin of `TROUPE_SPA_CORS_ORIGINS`, whose pages may use the cookie. */
  readonly isTrustedOrigin: (origin: string) => boolean
}

/**
 * Returns true when a response may set or clear cookies although the request has none. Browsers omit cookies from some
 * requests of other sites but still apply the cookies of the response.
 */
export function mayChangeCookies(request: RequestHead, rule: Pick<ForgeryRule, 'origin' | 'isTrustedOrigin'>): boolean {
  // Another site needs a CORS preflight to send this header, and the browser then ignores cookies.
  if (request.header('authorization') !== undefined) return true
  const from = requestOriginOf(request, rule.origin)
  if (from === 'same') return true
  const origin = request.header('origin')
  // Programs send no Origin header. `Origin: null` may come from a page of any site.
  return from === 'unknown' ? origin === undefined : rule.isTrustedOrigin(origin ?? '')
}

/**
 * @throws ServiceError `forged_request` when a request with a session cookie or Basic credentials comes from another site,
 *   or a request with a cookie does not prove its origin.
 */
export async function refuseForgery(request: HttpRequest, rule: ForgeryRule): Promise<void> {
  const browserSecret = browserSecretOf(request)
  if (browserSecret === null && !hasBasic(request)) return
  const from = requestOriginOf(request, rule.origin)
  if (from === 'same') return
  if (from === 'other') {
    if (rule.isTrustedOrigin(request.header('origin') ?? '')) return
    throw forged('another site sent the request')
  }
  if (browserSecret === null) return
  const shown = request.header(antiForgeryHeader) ?? (await fieldOf(request, rule))
  if (shown === undefined || !sameSecret(shown, antiForgeryValue(browserSecret)))
    throw forged(shown === undefined ? 'nothing shows where it comes from' : 'the anti-forgery value is wrong')
}

/**
 * Returns whether another site may have made the browser send a request with this session cookie. Unlike `refuseForgery`, it
 * leaves the body to the embedding program, so the CSRF token counts only in the header.
 */
export function isForged(
  request: RequestHead,
  rule: Pick<ForgeryRule, 'origin' | 'isTrustedOrigin'>,
  browserSecret: string,
): boolean {
  const from = requestOriginOf(request, rule.origin)
  if (from === 'same') return false
  if (from === 'other') return !rule.isTrustedOrigin(request.header('origin') ?? '')
  const shown = request.header(antiForgeryHeader)
  return shown === undefined || !sameSecret(shown, antiForgeryValue(browserSecret))
}

/**
 * Checks a form on a page that Basic credentials opened. The browser sends them with every request, so the form must prove
 * that it belongs to this service, by the browser's headers or the CSRF token. A URL that a user opened directly
 * (`Sec-Fetch-Site: none`) proves nothing, and no other site is trusted here.
 *
 * @throws ServiceError `forged_request`
 */
export async function refuseForgedForm(request: HttpRequest, rule: ForgeryRule, value: string): Promise<void> {
  const from = request.header('sec-fetch-site') === 'none' ? 'unknown' : requestOriginOf(request, rule.origin)
  // A link on a page of the service is a GET, and `_method` may turn it into a change.
  if (from === 'same' && request.method !== 'GET') return
  if (from === 'other') throw forged('another site sent the request')
  const shown = request.header(antiForgeryHeader) ?? (await fieldOf(request, rule))
  if (shown === undefined || !sameSecret(shown, value))
    throw forged(shown === undefined ? 'nothing shows where it comes from' : 'the anti-forgery value is wrong')
}

function hasBasic(request: HttpRequest): boolean {
  return /^basic /i.test(request.header('authorization') ?? '')
}

async function fieldOf(request: HttpRequest, limits: BodyLimits): Promise<string | undefined> {
  if (request.method !== 'POST') return undefined
  if (isMultipart(request)) return firstField(await request.stream().head(maxHead))
  const text = await readFormText(request, limits)
  return text === null ? undefined : Params.parse(text, maxFormFields, 'form').get(antiForgeryField)
}

/** The first field of a multipart form has the CSRF token, because a file may follow that is too large to keep. */
const maxHead = 2048

function firstField(head: Uint8Array): string | undefined {
  const text = Buffer.from(head).toString('latin1')
  const form = new RegExp(
    String.raw`^--[^\r\n]{1,200}\r\ncontent-disposition: *form-data; *name="${antiForgeryField}"\r\n\r\n([\w-]*)\r\n--`,
    'i',
  )
  return form.exec(text)?.[1]
}

function forged(reason: string): ServiceError {
  return new ServiceError(
    'forged_request',
    'Cannot process this request: it was not sent by a page of this service. Reload the page and try again.',
    { reason },
  )
}
