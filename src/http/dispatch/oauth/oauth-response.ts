/** Responses and request parsing of the authorization server (RFC 6749 sections 3.1, 3.2, 5.2). */
import { OAuthError } from '../../../authorization-server/oauth-error.ts'
import { ServiceError } from '../../../errors.ts'
import { acceptsPages } from '../../edge/accepts.ts'
import { type HttpResponse, json } from '../../edge/response.ts'
import { type BodyLimits, isUrlencoded, readFormText } from '../../edge/body.ts'
import type { HttpRequest } from '../../edge/request.ts'

const noStore = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }

export function oauthJson(status: number, body: object, headers: Record<string, string> = {}): HttpResponse {
  return json(status, body, { ...noStore, ...headers })
}

function oauthFailure({ status, code, message, challenge }: OAuthError): HttpResponse {
  return oauthJson(
    status,
    { error: code, error_description: message },
    challenge === undefined ? {} : { 'WWW-Authenticate': challenge },
  )
}

/** Converts errors to OAuth errors. A store failure is `server_error`, so that codes and tokens do not count as used (R-AS-04). */
export async function inOAuthWords(work: () => Promise<HttpResponse>): Promise<HttpResponse> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OAuthError) return oauthFailure(error)
    if (error instanceof ServiceError && error.code === 'store_unavailable') {
      const { retryAfterSeconds = 1 } = error.detail
      const failure = oauthFailure(new OAuthError('server_error', 'The service is temporarily unavailable'))
      return { ...failure, headers: { ...failure.headers, 'Retry-After': String(retryAfterSeconds) } }
    }
    if (error instanceof ServiceError && error.status >= 400 && error.status < 500 && error.status !== 429) {
      return oauthJson(error.status === 413 ? 413 : 400, { error: 'invalid_request', error_description: error.message })
    }
    throw error
  }
}

/** Shows errors that must not be redirected to the client: a page for a browser, an OAuth error for a program. */
export async function onPage(request: HttpRequest, work: () => Promise<HttpResponse>): Promise<HttpResponse> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    if (!acceptsPages(request)) return oauthFailure(error)
    throw new ServiceError('bad_request', `Cannot authorize the client: ${error.message}`)
  }
}

export interface OAuthFields {
  /** Returns the value. An empty value counts as missing (RFC 6749 section 3.1). */
  readonly get: (name: string) => string | undefined
  /** Returns true when the parameter was sent, even with an empty value. */
  readonly has: (name: string) => boolean
  /** The name of a repeated parameter, whose values are both ignored. */
  readonly repeated: string | null
}

/** Parameters that may be repeated (RFC 8707 section 2). The first value counts. */
const repeatable: ReadonlySet<string> = new Set(['resource'])
const maxFields = 100

export function parseOAuthFields(text: string): OAuthFields {
  const values = new Map<string, string>()
  let repeated: string | null = null
  let count = 0
  for (const [name, value] of new URLSearchParams(text)) {
    if (++count > maxFields) throw new OAuthError('invalid_request', 'The request has too many parameters')
    if (values.has(name) && !repeatable.has(name)) repeated ??= name.slice(0, 64)
    else if (!values.has(name)) values.set(name, value)
  }
  return { get: (name) => values.get(name) || undefined, has: (name) => values.has(name), repeated }
}

/**
 * Reads the parameters of the body. A parameter that is also in the query counts as repeated (RFC 6749 section 3.2).
 *
 * @throws OAuthError `invalid_request` for a body of another kind.
 */
export async function readOAuthForm(request: HttpRequest, limits: BodyLimits): Promise<OAuthFields> {
  if (!isUrlencoded(request)) {
    throw new OAuthError('invalid_request', 'The body must be application/x-www-form-urlencoded')
  }
  const fields = parseOAuthFields((await readFormText(request, limits)) ?? '')
  const inBoth = [...new URLSearchParams(request.query).keys()].find(fields.has)
  return inBoth === undefined ? fields : { ...fields, repeated: fields.repeated ?? inBoth.slice(0, 64) }
}

/** @throws OAuthError when the header was sent twice, because neither value can be trusted. */
export function authorizationOf(request: HttpRequest): string | undefined {
  if (request.hasRepeated('authorization')) throw new OAuthError('invalid_request', 'Authorization was sent twice')
  return request.header('authorization')
}
