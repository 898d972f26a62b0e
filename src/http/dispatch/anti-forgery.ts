/**
 * Against requests that another site makes a browser send: whoever comes with a cookie has to show that a page of this
 * service sent the request. A bearer token needs no such proof, because browsers add none. Basic credentials that a browser
 * remembers are added to requests of any site, and programs send them without saying where from: a request with Basic is
 * refused when the browser says that another site sent it.
 */
import { createHmac } from 'node:crypto'
import { cookieValue, sessionCookie } from '../../auth/credentials.ts'
import { ServiceError } from '../../errors.ts'
import { sameSecret } from '../../secret/hash.ts'
import { type BodyLimits, readFormText } from '../edge/body.ts'
import type { HttpRequest } from '../edge/request.ts'
import { maxFormFields, Params } from '../edge/params.ts'

/** The hidden field of every form, and the header of scripts. */
const antiForgeryField = 'csrf_token'
const antiForgeryHeader = 'x-csrf-token'

/**
 * The value that belongs to a secret of the browser (its session, or the cookie that marks it). Only the pages of this
 * service can tell it, and it tells nothing about the secret.
 */
export function antiForgeryValue(browserSecret: string): string {
  return createHmac('sha256', browserSecret).update('anti-forgery').digest('base64url')
}

/** Of a session, whichever way it was given out. Who comes with one of these has to prove more than that. */
const sessionCookies = [sessionCookie, 'access_token', 'refresh_token']

/** The secret that the browser's forms are bound to; null where no cookie can be the credential. */
export function browserSecretOf(request: HttpRequest): string | null {
  if (request.header('authorization') !== undefined) return null
  const cookies = request.header('cookie')
  if (cookies === undefined) return null
  for (const name of sessionCookies) {
    const value = cookieValue(cookies, name)
    if (value !== undefined) return value
  }
  return null
}

/** What the browser itself says about where a request comes from; `unknown` where it says nothing that helps. */
export function requestOriginOf(request: HttpRequest, serviceOrigin: string): 'same' | 'other' | 'unknown' {
  switch (request.header('sec-fetch-site')) {
    case 'same-origin':
    // The person typed the address or opened a bookmark.
    case 'none':
      return 'same'
    case 'same-site':
    case 'cross-site':
      return 'other'
    default: {
      // An older browser. Our own pages send `null`, because of their referrer policy (RFC 6454, 7.3).
      const origin = request.header('origin')
      if (origin === undefined || origin === 'null') return 'unknown'
      return origin === serviceOrigin ? 'same' : 'other'
    }
  }
}

export interface ForgeryRule extends BodyLimits {
  /** Of this service: scheme, host and port. */
  readonly origin: string
  /** Sites of others that may use the cookie: those that are named for single-page applications. */
  readonly isTrustedOrigin: (origin: string) => boolean
}

/**
 * Whether the browser that asks may be given cookies, or have them taken away, where no cookie of its own shows who it is:
 * other sites make browsers send requests that cookies stay away from, and the answer's cookies count all the same.
 */
export function mayChangeCookies(request: HttpRequest, rule: Pick<ForgeryRule, 'origin' | 'isTrustedOrigin'>): boolean {
  // No other site can add this header without asking first, and then the browser takes no cookies.
  if (request.header('authorization') !== undefined) return true
  const from = requestOriginOf(request, rule.origin)
  if (from === 'same') return true
  const origin = request.header('origin')
  // A program says nothing of all this; a page without an origin may be anybody's.
  return from === 'unknown' ? origin === undefined : rule.isTrustedOrigin(origin ?? '')
}

/**
 * @throws ServiceError `forged_request` when a request with a session's cookie or Basic credentials comes from elsewhere, or
 *   nothing shows where a request with a cookie comes from.
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
 * Of a form on a page that Basic credentials opened. The browser sends them with every request, so the form has to prove
 * that it is of this service: by what the browser says, or by the anti-forgery value. An address that a person opened from
 * elsewhere (`Sec-Fetch-Site: none`) proves nothing, and no other site is trusted here.
 *
 * @throws ServiceError `forged_request`
 */
export async function refuseForgedForm(request: HttpRequest, rule: ForgeryRule, value: string): Promise<void> {
  const from = request.header('sec-fetch-site') === 'none' ? 'unknown' : requestOriginOf(request, rule.origin)
  // A link on a page of the service is a GET, which `_method` turns into something else.
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
  const text = await readFormText(request, limits)
  return text === null ? undefined : Params.parse(text, maxFormFields, 'form').get(antiForgeryField)
}

function forged(reason: string): ServiceError {
  return new ServiceError(
    'forged_request',
    'Cannot do this: the request was not sent by a page of this service. Open the page anew and try again.',
    { reason },
  )
}
