/** Request bodies by type. The same parsed content type decides whether a body is accepted and how it is read. */
import { quoted, ServiceError } from '../../errors.ts'
import { type JsonText, type LoneSurrogates, normalize } from '../../json/json.ts'
import type { HttpRequest } from './request.ts'
import { inflated } from './inflate.ts'
import { readMultipart } from './multipart.ts'
import { maxFormFields, Params } from './params.ts'

export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly maxJsonDepth: number
}

/** A parsed body; `none` means an empty body. */
export type Body =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly json: JsonText }
  | { readonly kind: 'form'; readonly form: Params }
  | { readonly kind: 'text'; readonly text: string }

type MediaType = 'json' | 'form' | 'multipart' | 'text' | 'absent'

interface ContentType {
  readonly media: MediaType
  readonly boundary: string | null
}

/** Reads the body at an endpoint that accepts JSON and forms. */
export async function readJsonOrForm(request: HttpRequest, limits: BodyLimits): Promise<Body> {
  const type = contentType(request)
  const bytes = await request.body(limits.maxBodyBytes)
  if (bytes.length === 0) return { kind: 'none' }
  if (type.media === 'multipart') return { kind: 'form', form: readMultipart(bytes, type.boundary ?? '') }
  const text = decode(bytes)
  if (type.media === 'form') return { kind: 'form', form: Params.parse(text, maxFormFields, 'form') }
  return readText(type, text, limits)
}

/** Reads a value: JSON when it parses, else text. The form content type is read the same way, because curl sends it by default. */
export async function readValue(request: HttpRequest, limits: BodyLimits): Promise<Body> {
  const type = contentType(request)
  if (type.media === 'multipart') throw unsupported('multipart/form-data')
  const bytes = await request.body(limits.maxBodyBytes)
  return bytes.length === 0 ? { kind: 'none' } : readText(type, decode(bytes), limits)
}

/** Returns the text of a URL-encoded form; null for another or an invalid content type. */
export async function readFormText(request: HttpRequest, limits: BodyLimits): Promise<string | null> {
  return isUrlencoded(request) ? decode(await request.body(limits.maxBodyBytes)) : null
}

/**
 * Reads the fields of a browser form.
 *
 * @throws ServiceError `unsupported_media_type` when the body is not url-encoded.
 */
export async function readUrlencodedForm(request: HttpRequest, limits: BodyLimits): Promise<Params> {
  const text = await readFormText(request, limits)
  if (text === null)
    throw new ServiceError(
      'unsupported_media_type',
      'Cannot read the form: it is not application/x-www-form-urlencoded',
    )
  return Params.parse(text, maxFormFields, 'form')
}

export function isUrlencoded(request: HttpRequest): boolean {
  return mediaIn(request) === 'form'
}

export function isMultipart(request: HttpRequest): boolean {
  return mediaIn(request) === 'multipart'
}

/** Returns true for a JSON body. A body without a content type also counts (CHOICE-56). */
export function saysJson(request: HttpRequest): boolean {
  const media = mediaIn(request)
  return media === 'json' || media === 'absent'
}

/** Returns null for an unsupported or invalid content type. */
function mediaIn(request: HttpRequest): MediaType | null {
  try {
    return contentType(request).media
  } catch (error) {
    if (error instanceof ServiceError) return null
    throw error
  }
}

/**
 * Reads a JSON body.
 *
 * @param inflates Accepts gzip. The size limit also applies to the decompressed body.
 * @param ifEmpty The value of an empty body.
 * @throws ServiceError `invalid_json`, also for an empty body without `ifEmpty`.
 */
export async function readJson(
  request: HttpRequest,
  limits: BodyLimits,
  {
    inflates = false,
    ifEmpty,
    lone,
  }: { readonly inflates?: boolean; readonly ifEmpty?: JsonText; readonly lone?: LoneSurrogates | undefined } = {},
): Promise<JsonText> {
  const isPacked = inflates && request.header('content-encoding')?.trim().toLowerCase() === 'gzip'
  const type = contentType(request, isPacked)
  if (type.media === 'multipart') throw unsupported('multipart/form-data')
  const sent = await request.body(limits.maxBodyBytes)
  const bytes = isPacked && sent.length > 0 ? await inflated(sent, limits.maxBodyBytes) : sent
  if (bytes.length === 0 && ifEmpty !== undefined) return ifEmpty
  if (bytes.length === 0) throw new ServiceError('invalid_json', 'Cannot read the body: it is empty')
  return normalize(decode(bytes), limits.maxJsonDepth, lone)
}

/** Parses JSON, or returns the text. JSON beyond the depth limit is an error and never falls back to text. */
function readText(type: ContentType, text: string, limits: BodyLimits): Body {
  try {
    return { kind: 'json', json: normalize(text, limits.maxJsonDepth) }
  } catch (error) {
    if (type.media === 'json' || !(error instanceof ServiceError) || error.code !== 'invalid_json') throw error
    return { kind: 'text', text }
  }
}

/** Decodes strictly, because replacing an invalid byte would change the stored value. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new ServiceError('bad_request', 'Cannot read the body: it is not valid UTF-8', { cause })
  }
}

const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i
const charsets = new Set(['utf-8', 'utf8', 'us-ascii'])
const plainJson: ContentType = { media: 'json', boundary: null }

function contentType(request: HttpRequest, isPacked = false): ContentType {
  const encoding = request.header('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (!isPacked && encoding !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'Cannot read the body: compression is not supported here')
  }
  if (request.hasRepeated('content-type'))
    throw new ServiceError('bad_request', 'Cannot read the body: Content-Type was sent twice')
  const value = request.header('content-type')
  if (value === undefined) return { media: 'absent', boundary: null }
  // Skips parsing for the most frequent value.
  return value === 'application/json' ? plainJson : parseContentType(value)
}

function parseContentType(value: string): ContentType {
  // The lookbehind keeps the time linear: without it, the search would read many spaces inside of a part from each of them.
  const [type = '', ...rest] = value.split(';').map((part) => part.replace(/^ +|(?<! ) +$/g, ''))
  const [main = '', sub = '', ...more] = type.split('/')
  if (!token.test(main) || !token.test(sub) || more.length > 0) throw unsupported(value)
  const parameters = new Map(rest.filter((part) => part !== '').map((part) => parameter(part, value)))
  const charset = parameters.get('charset')
  if (charset !== undefined && !charsets.has(charset.toLowerCase())) throw unsupported(value)
  return { media: mediaOf(type.toLowerCase(), value), boundary: parameters.get('boundary') ?? null }
}

function parameter(part: string, whole: string): [string, string] {
  const [name = '', quoted = ''] = part.split(/=(.*)/s)
  const value = /^".*"$/.test(quoted) ? quoted.slice(1, -1) : quoted
  if (!token.test(name) || value === '') throw unsupported(whole)
  return [name.toLowerCase(), value]
}

function mediaOf(type: string, whole: string): MediaType {
  if (type === 'application/json' || /^application\/[^ ]+\+json$/.test(type)) return 'json'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  if (type === 'multipart/form-data') return 'multipart'
  if (type === 'text/plain') return 'text'
  throw unsupported(whole)
}

function unsupported(type: string): ServiceError {
  return new ServiceError('unsupported_media_type', `Cannot read a body of type ${quoted(type)}`)
}
