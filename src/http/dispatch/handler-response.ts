/**
 * Sends the `Response` of a handler. The service owns the headers that protect its origin: cookies, the content security
 * policy, CORS and the rest of the connection. A handler of the application sets what describes its content.
 */
import { ServiceError } from '../../errors.ts'
import type { HttpResponse } from '../edge/response.ts'

/** The headers that a handler may set, in the spelling that is sent. */
const described = [
  'Accept-Ranges',
  'Cache-Control',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Language',
  'Content-Length',
  'Content-Range',
  'Content-Type',
  'ETag',
  'Expires',
  'Last-Modified',
  'Link',
  'Location',
  'Retry-After',
  'Vary',
] as const
const spelling = new Map(described.map((name) => [name.toLowerCase(), name]))

/** Headers that begin with `X-` and that browsers or proxies act on. All others with this beginning are the application's. */
const actedOn = new Set([
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-forwarded-for',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-request-id',
  'x-ua-compatible',
  'x-xss-protection',
])

/** Headers with which a proxy reads files, or replaces its rules of caching. */
const ofProxies = /^x-(?:accel|sendfile|lighttpd|litespeed)/

function isActedOn(name: string): boolean {
  return actedOn.has(name) || ofProxies.test(name)
}

/** Content that a browser shows as a document of this origin, where a script could act for the owner. */
const isDocument = /^(?:text|application)\/(?:[^;]*[+/-])?(?:html|xhtml|xml|xslt)\b|^image\/svg/i

/** The CSP of a document: it runs and loads nothing, submits no form, and has an origin of its own. */
const documentPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"

/**
 * @param isPage The application's page of the owner: HTML gets the CSP of pages. Otherwise a document is sandboxed.
 * @throws ServiceError `server_error` for `Response.error()`, for a body that was read already, and for an invalid length.
 */
export function answerOf(response: Response, { isPage = false } = {}): HttpResponse {
  const { status, body } = response
  if (status < 200) throw unusable('has no status')
  const headers = describedHeaders(response.headers)
  const type = headers['Content-Type'] ?? ''
  if (body === null) return { status, headers, body: null }
  if (type === '') headers['Content-Type'] = 'application/octet-stream'
  if (!isPage && isDocument.test(type)) headers['Content-Security-Policy'] = documentPolicy
  if (body.locked) throw unusable('was read already')
  const reader = body.getReader()
  const close = (): void => void reader.cancel().catch(() => {})
  return { status, headers, body: null, stream: pieces(reader, lengthIn(headers)), onClose: close }
}

function describedHeaders(given: Headers): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of given) {
    const known = spelling.get(name)
    if (known !== undefined) headers[known] = value
    else if (name.startsWith('x-') && !isActedOn(name)) headers[name] = value
  }
  return headers
}

function lengthIn(headers: Readonly<Record<string, string>>): number | null {
  const text = headers['Content-Length']
  if (text === undefined) return null
  if (!/^\d{1,15}$/.test(text)) throw unusable('has a Content-Length that is not a number')
  return Number(text)
}

/**
 * Reads a piece when the one before is sent. A body of another length than announced fails, because the rest of the
 * connection would be read as another response.
 */
async function* pieces(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  length: number | null,
): AsyncGenerator<Uint8Array, void> {
  let sent = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      sent += value.byteLength
      if (length !== null && sent > length) throw new Error(`The body is longer than its Content-Length, ${length}`)
      yield value
    }
    if (length !== null && sent < length)
      throw new Error(`The body ended after ${sent} of ${length} bytes that its Content-Length names`)
  } finally {
    reader.cancel().catch(() => {})
  }
}

function unusable(why: string): ServiceError {
  return new ServiceError('server_error', undefined, {
    cause: new Error(`Cannot send the Response of a handler: it ${why}`),
  })
}
