/** Request bodies by type. One parsed content type decides both whether a body is taken and how it is read. */
import { quoted, ServiceError } from '../../errors.ts'
import { type JsonText, normalise } from '../../json/json.ts'
import type { HttpRequest } from './request.ts'
import { inflated } from './inflate.ts'
import { readMultipart } from './multipart.ts'
import { maxFormFields, Params } from './params.ts'

export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly maxJsonDepth: number
}

/** A body that was read; `none` is an empty one. */
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

/** A form of an endpoint that takes JSON and forms: an API body or a browser's. */
export async function readJsonOrForm(request: HttpRequest, limits: BodyLimits): Promise<Body> {
  const type = contentType(request)
  const bytes = await request.body(limits.maxBodyBytes)
  if (bytes.length === 0) return { kind: 'none' }
  if (type.media === 'multipart') return { kind: 'form', form: readMultipart(bytes, type.boundary ?? '') }
  const text = decode(bytes)
  if (type.media === 'form') return { kind: 'form', form: Params.parse(text, maxFormFields, 'form') }
  return readText(type, text, limits)
}

/** A value: JSON when it parses, else text. A form's bytes are taken as they are; curl sends that type unasked. */
export async function readValue(request: HttpRequest, limits: BodyLimits): Promise<Body> {
  const type = contentType(request)
  if (type.media === 'multipart') throw unsupported('multipart/form-data')
  const bytes = await request.body(limits.maxBodyBytes)
  return bytes.length === 0 ? { kind: 'none' } : readText(type, decode(bytes), limits)
}

/** The text of a url-encoded form; null where the body is something else, or says what it is in a way nobody reads. */
export async function readFormText(request: HttpRequest, limits: BodyLimits): Promise<string | null> {
  return isUrlencoded(request) ? decode(await request.body(limits.maxBodyBytes)) : null
}

/**
 * The fields of a browser's form.
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

/** A body that does not say what it is counts (CHOICE-56). */
export function saysJson(request: HttpRequest): boolean {
  const media = mediaIn(request)
  return media === 'json' || media === 'absent'
}

/** Null for one that nobody reads. */
function mediaIn(request: HttpRequest): MediaType | null {
  try {
    return contentType(request).media
  } catch (error) {
    if (error instanceof ServiceError) return null
    throw error
  }
}

/**
 * JSON and nothing else.
 *
 * @param inflates takes it packed by gzip too; the limit holds for what comes of it.
 * @throws ServiceError `invalid_json`, also for an empty body.
 */
export async function readJson(
  request: HttpRequest,
  limits: BodyLimits,
  { inflates = false }: { readonly inflates?: boolean } = {},
): Promise<JsonText> {
  const isPacked = inflates && request.header('content-encoding')?.trim().toLowerCase() === 'gzip'
  const type = contentType(request, isPacked)
  if (type.media === 'multipart') throw unsupported('multipart/form-data')
  const sent = await request.body(limits.maxBodyBytes)
  const bytes = isPacked && sent.length > 0 ? await inflated(sent, limits.maxBodyBytes) : sent
  if (bytes.length === 0) throw new ServiceError('invalid_json', 'Cannot read the body: it is empty')
  return normalise(decode(bytes), limits.maxJsonDepth)
}

/** Too deep a value is another error than `invalid_json` and is never kept as text, whatever its type says. */
function readText(type: ContentType, text: string, limits: BodyLimits): Body {
  try {
    return { kind: 'json', json: normalise(text, limits.maxJsonDepth) }
  } catch (error) {
    if (type.media === 'json' || !(error instanceof ServiceError) || error.code !== 'invalid_json') throw error
    return { kind: 'text', text }
  }
}

/** Fatal decoding: a byte that is not UTF-8 would come back as another one. */
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
    throw new ServiceError('unsupported_media_type', 'Cannot read the body: compressed bodies are not taken')
  }
  if (request.hasRepeated('content-type'))
    throw new ServiceError('bad_request', 'Cannot read the body: Content-Type is given twice')
  const value = request.header('content-type')
  if (value === undefined) return { media: 'absent', boundary: null }
  // Nearly every program sends this value, which needs no parsing.
  return value === 'application/json' ? plainJson : parseContentType(value)
}

function parseContentType(value: string): ContentType {
  const [type = '', ...rest] = value.split(';').map((part) => part.replace(/^ +| +$/g, ''))
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
