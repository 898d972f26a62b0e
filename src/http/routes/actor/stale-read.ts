/** Reads whose caller accepts old data: `Cache-Control: max-stale=<seconds>` (RFC 9111 section 5.2.1.2). */
import type { Caller } from '../../../caller.ts'
import { present } from '../../../json/present.ts'
import type { ListReader } from '../../../property/lists/list-reader.ts'
import type { Properties } from '../../../property/properties.ts'
import type { HttpRequest } from '../../edge/request.ts'
import type { HttpResponse } from '../../edge/response.ts'

interface Readable {
  readonly properties: Properties
  readonly listReader: ListReader
}

/**
 * Runs a read on data of the accepted age. The header `Age` of the response is the age in seconds, rounded up. It is absent
 * when the database itself answered.
 */
export function readWithin<T extends Readable>(
  deps: T,
  { request, caller }: { readonly request: HttpRequest; readonly caller: Caller },
  read: (deps: T) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const seconds = acceptedAge(request.header('cache-control'))
  // Peers and AI clients have rights that change. With old data, a new right would cover what was deleted before it.
  return seconds === 0 || caller.kind !== 'creator' ? read(deps) : readOld(deps, seconds, read)
}

async function readOld<T extends Readable>(
  deps: T,
  seconds: number,
  read: (deps: T) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const { ageMs, ...stale } = deps.properties.within(seconds * 1000)
  const response = await read({ ...deps, ...stale })
  const age = ageMs()
  if (age === null) return response
  // The replica may have answered one statement and the database the next, so the content may be older than its tag.
  const { ETag, ...headers } = response.headers
  const tag = response.status === 304 ? present({ ETag }) : {}
  return { ...response, headers: { ...headers, ...tag, Age: String(Math.ceil(age / 1000)) } }
}

/** The seconds of `max-stale`. 0 without the directive, and for one without seconds, which would accept any age. */
export function acceptedAge(header: string | undefined): number {
  for (const directive of header?.split(',') ?? []) {
    const seconds = /^\s*max-stale\s*=\s*"?(\d{1,9})"?\s*$/i.exec(directive)?.[1]
    if (seconds !== undefined) return Number(seconds)
  }
  return 0
}
