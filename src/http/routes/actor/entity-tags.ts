/** Entity tags of properties, and the request headers that name them (RFC 9110 sections 8.8.3 and 13.1). */
import { ServiceError } from '../../../errors.ts'
import type { Condition, EntityTags } from '../../../property/condition.ts'
import type { Access } from '../../../property/access.ts'
import type { Properties } from '../../../property/properties.ts'
import { isKnownTag, readTags } from '../../edge/content/known-tags.ts'
import type { HttpRequest } from '../../edge/request.ts'
import type { HttpResponse } from '../../edge/response.ts'
import type { ActorExchange } from '../../dispatch/route.ts'

/** The suffix of the tag of a bare string, which has the same URL as its JSON. */
export const textForm = 'text'

/** A function that is true for each tag that `If-None-Match` of a read names. Undefined without the header. */
export function knownTags(request: HttpRequest): ((tag: string) => boolean) | undefined {
  return request.header('if-none-match') === undefined ? undefined : (tag) => isKnownTag(request, tag)
}

/**
 * Adds the tag to the response to a read. 304 when the client has this version.
 *
 * @param tag null for a response without a tag.
 */
export function tagged(request: HttpRequest, response: HttpResponse, tag: string | null): HttpResponse {
  if (tag === null) return response
  return isKnownTag(request, tag)
    ? notModified(tag)
    : { ...response, headers: { ...response.headers, ETag: `"${tag}"` } }
}

export function notModified(tag: string): HttpResponse {
  return { status: 304, headers: { ETag: `"${tag}"` }, body: null }
}

/**
 * The access of a write, with the condition that `If-Match` and `If-None-Match` state.
 *
 * @param path the property that the condition is about. Null: all properties that the caller may read.
 * @throws ServiceError `bad_request` for a malformed header.
 */
export async function writeAccess(
  properties: Properties,
  { request, actor, caller }: Pick<ActorExchange, 'request' | 'actor' | 'caller'>,
  path: readonly string[] | null,
): Promise<Access> {
  const condition = conditionOf(request)
  return condition === null ? { actor, caller } : properties.withCondition({ actor, caller }, condition, path)
}

/** The condition that a request states. @throws ServiceError `bad_request` for a malformed header. */
export function conditionOf(request: HttpRequest): Condition | null {
  const [match, noneMatch] = [request.header('if-match'), request.header('if-none-match')]
  if (match === undefined && noneMatch === undefined) return null
  return {
    ifMatch: match === undefined ? null : requireTags('If-Match', match, { weak: false }),
    ifNoneMatch: noneMatch === undefined ? null : requireTags('If-None-Match', noneMatch, { weak: true }),
  }
}

function requireTags(name: string, header: string, options: { readonly weak: boolean }): EntityTags {
  const tags = readTags(header, options)
  if (tags === null)
    throw new ServiceError('bad_request', `Invalid ${name}: expected * or entity tags in double quotes.`)
  return tags
}
