/** `/<actor>/files`: the files of an actor. */
import { maxFileNameBytes } from '../file-name.ts'
import type { FileFacts } from '../file-store.ts'
import { type FileCondition, type Files, maxFilesListed, fileVersionOf } from '../files.ts'
import { ServiceError } from '../../../errors.ts'
import { integerField, optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { requireMet } from '../../../property/condition.ts'
import type { HttpRequest } from '../../../http/edge/request.ts'
import { type HttpResponse, json, noContent, withNextPage } from '../../../http/edge/response.ts'
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import type { RequestBody } from '../../../http/dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../../http/dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../../http/dispatch/schemas.ts'
import { isKnownTag } from '../../../http/edge/content/known-tags.ts'
import { conditionOf } from '../../../http/routes/actor/entity-tags.ts'
import { contentResponse, unchangedFile } from './file-response.ts'
import { rangeOf } from './range.ts'

const time = { type: 'string', format: 'date-time' } as const
const fileSchema = {
  type: 'object',
  required: ['name', 'size', 'type', 'sha256', 'etag', 'created_at', 'updated_at'],
  properties: {
    name: { type: 'string' },
    size: { type: 'integer', description: 'In bytes' },
    type: { type: 'string', description: 'The media type, as declared' },
    sha256: { type: 'string', description: 'SHA-256 of the content, as 64 hexadecimal digits' },
    etag: { type: 'string', description: 'The entity tag, as `ETag` and `If-Match` have it' },
    created_at: time,
    updated_at: time,
  },
} as const

const listQuery = {
  prefix: optional(
    stringField('Only names that begin with this', { maxLength: maxFileNameBytes, isStorable: true }),
    '',
  ),
  limit: optional(integerField('The most files to return', { least: 1, most: maxFilesListed }), 100),
  after: optional(
    stringField('Returns the files after this name: `next` of the previous page', {
      maxLength: 2000,
      isStorable: true,
    }),
    '',
  ),
}

/** The handler reads the body as a stream. */
const anyContent: RequestBody<undefined> = {
  content: { '*/*': { type: 'string', format: 'binary' } },
  read: async () => undefined,
}

const path = '/:actor/files' as const
/** A name may have slashes. */
const one = '/:actor/files/:name/*' as const

type OneExchange = ActorExchange<'name'>

/** @param files Only handlers may call it. */
export function fileRoutes(files: () => Files): readonly Route[] {
  return [listRoute(files), readRoute(files), ...changeRoutes(files)]
}

function listRoute(files: () => Files): Route {
  return defineRoute({
    id: 'listFiles',
    method: 'GET',
    path,
    access: 'files',
    summary: 'The files that the caller may read, by name. A page may be shorter than its limit',
    query: listQuery,
    responses: {
      200: {
        text: 'A page of files; `next` is null on the last one',
        schema: {
          type: 'object',
          required: ['files', 'next'],
          properties: {
            files: { type: 'array', items: fileSchema },
            next: { type: ['string', 'null'], description: 'For `after` of the next page' },
          },
        },
      },
      ...errorResponses(400),
      ...actorErrors,
    },
    handler: async ({ actor, caller, query }) => listed(files(), { actorId: actor.id, caller }, query),
  })
}

async function listed(
  files: Files,
  access: Parameters<Files['list']>[0],
  query: ValuesOf<typeof listQuery>,
): Promise<HttpResponse> {
  const { files: page, next } = await files.list(access, query)
  const response = json(200, { files: page.map(shown), next })
  const { prefix, limit } = query
  return next === null
    ? response
    : withNextPage(response, { ...(prefix === '' ? {} : { prefix }), limit: String(limit), after: next })
}

function readRoute(files: () => Files): Route {
  return defineRoute({
    id: 'getFile',
    method: 'GET',
    path: one,
    access: 'files',
    summary: 'The content of a file',
    conditions: 'read',
    headers: { Range: 'One range of bytes', 'If-Range': 'The entity tag for which `Range` applies' },
    responses: {
      200: { text: 'The content, with the declared type', type: '*/*' },
      206: { text: 'The range', type: '*/*' },
      ...errorResponses(400, 412, 416, 500, 503),
      ...actorErrors,
    },
    handler: (exchange) => {
      refuseAsCode(exchange.request)
      return read(files(), exchange)
    },
  })
}

/** Uses of a response that run it, or apply it as a style. Browsers send the use with every request. */
const codeUses: ReadonlySet<string | undefined> = new Set([
  'script',
  'style',
  'worker',
  'sharedworker',
  'serviceworker',
  'audioworklet',
  'paintworklet',
  'xslt',
])

/** @throws ServiceError `forbidden`: peers and programs may have stored the file, so no page may run it. */
function refuseAsCode(request: Pick<HttpRequest, 'header'>): void {
  if (codeUses.has(request.header('sec-fetch-dest')?.toLowerCase()))
    throw new ServiceError('forbidden', 'Cannot send the file: a page must not use it as a script or style')
}

function changeRoutes(files: () => Files): readonly Route[] {
  return [
    defineRoute({
      id: 'putFile',
      method: 'PUT',
      path: one,
      access: 'files',
      summary: 'Stores a file. It replaces the file of this name when all bytes have arrived',
      request: anyContent,
      conditions: 'write',
      headers: { 'Content-Digest': 'Digest of the content (RFC 9530). Another content is refused' },
      responses: {
        200: { text: 'Replaced', schema: fileSchema },
        201: { text: 'Created', schema: fileSchema },
        ...writeErrors,
        ...errorResponses(413, 415, 429, 507),
      },
      handler: async (exchange) => {
        const { request, actor, caller } = exchange
        requirePlainBody(request)
        const stored = await files().upload({ actorId: actor.id, caller }, nameOf(exchange), request.stream(), {
          type: request.header('content-type'),
          size: sizeOf(request),
          hash: digestOf(request),
          condition: fileCondition(request),
        })
        return json(stored.isNew ? 201 : 200, shown(stored.facts), { ETag: `"${fileVersionOf(stored.facts)}"` })
      },
    }),
    defineRoute({
      id: 'deleteFile',
      method: 'DELETE',
      path: one,
      access: 'files',
      summary: 'Deletes a file',
      conditions: 'write',
      responses: { 204: 'Deleted', ...errorResponses(400), ...actorErrors },
      handler: async (exchange) => {
        const { request, actor, caller } = exchange
        const name = nameOf(exchange)
        const isDeleted = await files().remove({ actorId: actor.id, caller }, name, fileCondition(request))
        if (!isDeleted) throw noFile()
        return noContent()
      },
    }),
  ]
}

async function read(files: Files, exchange: OneExchange): Promise<HttpResponse> {
  const { request, actor, caller } = exchange
  const condition = conditionOf(request)
  let range: ReturnType<typeof rangeOf> = null
  const opened = await files.open({ actorId: actor.id, caller }, nameOf(exchange), (facts) => {
    const tag = fileVersionOf(facts)
    if (condition !== null && condition.ifMatch !== null) requireMet({ ...condition, ifNoneMatch: null }, tag)
    range = isKnownTag(request, tag) ? null : rangeOf(request, facts.size, tag)
    if (request.method === 'HEAD' || isKnownTag(request, tag)) return 'none'
    return range === 'unsatisfiable' ? 'none' : range
  })
  if (opened === null) throw noFile()
  const { facts, bytes } = opened
  const tag = fileVersionOf(facts)
  if (isKnownTag(request, tag)) return unchangedFile(tag)
  if (range === 'unsatisfiable') throw unsatisfiable(facts.size)
  return contentResponse({ ...facts, tag }, bytes, range)
}

function nameOf({ params, rest }: Pick<OneExchange, 'params' | 'rest'>): string {
  return [params.name, ...rest].join('/')
}

/** The size of the body, if the request states it. */
function sizeOf(request: HttpRequest): number | undefined {
  const length = request.header('content-length')
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined
}

function fileCondition(request: HttpRequest): FileCondition | undefined {
  const condition = conditionOf(request)
  return condition === null
    ? undefined
    : (stored) => requireMet(condition, stored === null ? null : fileVersionOf(stored))
}

/** Refuses what a file cannot keep: a part of a content (RFC 9110 section 14.5), and a coding, which would be lost. */
function requirePlainBody(request: HttpRequest): void {
  if (request.header('content-range') !== undefined)
    throw new ServiceError('bad_request', 'Cannot store a part of a file: send the whole content without Content-Range')
  if ((request.header('content-encoding')?.trim().toLowerCase() ?? 'identity') !== 'identity')
    throw new ServiceError('unsupported_media_type', 'Cannot store the file: send the content without Content-Encoding')
  if (request.hasRepeated('content-type'))
    throw new ServiceError('bad_request', 'Cannot store the file: Content-Type was sent twice')
}

/** The SHA-256 in Content-Digest, as hexadecimal digits. Digests of other kinds are not checked. */
function digestOf(request: HttpRequest): string | undefined {
  const header = request.header('content-digest')
  if (header === undefined) return undefined
  const [, digest] = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):\s*(?:[,;]|$)/.exec(header) ?? []
  if (digest !== undefined) return Buffer.from(digest, 'base64').toString('hex')
  if (/(?:^|,)\s*sha-256=/.test(header))
    throw new ServiceError('bad_request', 'Invalid Content-Digest: expected sha-256=:<base64 of 32 bytes>:.')
  return undefined
}

function noFile(): ServiceError {
  return new ServiceError('not_found', 'Cannot find the file: it does not exist')
}

function unsatisfiable(size: number): ServiceError {
  return new ServiceError('range_not_satisfiable', undefined, { headers: { 'Content-Range': `bytes */${size}` } })
}

function shown(facts: FileFacts): object {
  return {
    name: facts.name,
    size: facts.size,
    type: facts.type,
    sha256: facts.hash,
    etag: `"${fileVersionOf(facts)}"`,
    created_at: new Date(facts.createdAt).toISOString(),
    updated_at: new Date(facts.updatedAt).toISOString(),
  }
}
