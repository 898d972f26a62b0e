/** An answer as plain data, before an edge puts it on the wire. */
import type { JsonText } from '../../json/json.ts'

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Bytes where a file is sent. */
  readonly body: string | Uint8Array<ArrayBuffer> | null
  /** Values of Set-Cookie, each a line of its own. */
  readonly cookies?: readonly string[]
  /** In place of a body: pieces of text sent as they come, until it ends or the receiver goes. */
  readonly stream?: AsyncIterable<string>
  /** Nobody receives the stream (any more): a piece that is waited for may never come. */
  readonly onClose?: () => void
}

const jsonType = { 'Content-Type': 'application/json' }
const noHeaders = {}

/** `value` is serialised; use `jsonText` for text that is JSON already. */
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
 * JSON that is sent while it is read, in chunks. When `pieces` fail the edge resets the connection, so that the part that
 * was sent never looks complete.
 */
export function jsonStream(status: number, pieces: AsyncIterable<string>): HttpResponse {
  return { status, headers: jsonType, body: null, stream: pieces }
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

export function redirect(status: 302 | 303 | 307, location: string, headers?: Record<string, string>): HttpResponse {
  return { status, headers: { Location: location, ...headers }, body: null }
}
