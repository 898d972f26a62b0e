/** An HTTP response as plain data, before an adapter sends it. */
import type { JsonText } from '../../json/json.ts'

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body. Files are bytes. */
  readonly body: string | Uint8Array<ArrayBuffer> | null
  /** Set-Cookie values, one header line each. */
  readonly cookies?: readonly string[]
  /** Pieces that are sent as they arrive, in place of a body. */
  readonly stream?: AsyncIterable<string | Uint8Array>
  /** Called when the client no longer receives the stream, so that the stream can stop waiting for the next piece. */
  readonly onClose?: () => void
}

const jsonType = { 'Content-Type': 'application/json' }
const noHeaders = {}

/** Makes a JSON response and serializes `value`. Use `jsonText` for a string that is JSON already. */
export function json(
  status: number,
  value: object | boolean | number | string | null,
  headers?: Record<string, string>,
): HttpResponse {
  return jsonText(status, JSON.stringify(value) as JsonText, headers)
}

export function jsonText(status: number, text: JsonText, headers?: Record<string, string>): HttpResponse {
  return { status, headers: headers === undefined ? jsonType : { ...jsonType, ...headers }, body: text }
}

/**
 * Makes a JSON response that is sent in chunks while it is read. If `pieces` fails, the adapter resets the connection, so
 * that a partial response never looks complete.
 */
export function jsonStream(status: number, pieces: AsyncIterable<string>): HttpResponse {
  return { status, headers: jsonType, body: null, stream: pieces }
}

/** Makes a JSON response from a string that is JSON already, or from its pieces. */
export function jsonContent(status: number, content: JsonText | AsyncIterable<string>): HttpResponse {
  return typeof content === 'string' ? jsonText(status, content) : jsonStream(status, content)
}

/** Like `jsonStream`, with a JSON value on each line. */
export function lineStream(lines: AsyncIterable<string>): HttpResponse {
  return { status: 200, headers: { 'Content-Type': 'application/x-ndjson' }, body: null, stream: lines }
}

export function text(status: number, body: string, headers?: Record<string, string>): HttpResponse {
  return { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers }, body }
}

export function html(status: number, body: { toString(): string }, headers?: Record<string, string>): HttpResponse {
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8', ...headers }, body: body.toString() }
}

export function isPage({ headers }: Pick<HttpResponse, 'headers'>): boolean {
  return headers['Content-Type']?.startsWith('text/html') === true
}

export function noContent(headers?: Record<string, string>): HttpResponse {
  return { status: 204, headers: headers ?? noHeaders, body: null }
}

export function redirect(
  status: 302 | 303 | 307 | 308,
  location: string,
  headers?: Record<string, string>,
): HttpResponse {
  return { status, headers: { Location: location, ...headers }, body: null }
}

/** Adds the address of the next page (RFC 8288), relative to that of the request. */
export function withNextPage(response: HttpResponse, query: Readonly<Record<string, string>>): HttpResponse {
  return {
    ...response,
    headers: { ...response.headers, Link: `<?${new URLSearchParams(query).toString()}>; rel="next"` },
  }
}
