/** Finds the route of a request. */
import { ServiceError } from '../../errors.ts'
import { type BodyLimits, isUrlencoded } from '../edge/body.ts'
import type { Cors } from '../edge/cors.ts'
import { maxQueryFields, Params } from '../edge/params.ts'
import { decodePath } from '../edge/path.ts'
import type { HttpRequest } from '../edge/request.ts'
import { type HttpResponse, redirect } from '../edge/response.ts'
import { methodOf, overriddenMethod } from './method.ts'
import type { Method, Route } from './route.ts'
import { type Match, RouteTable } from './route-table.ts'

/** Maximum length of path and query, in characters. */
const longestAddress = 8192

export interface LocatorDeps {
  readonly cors: Cors
  readonly baseUrl: string
  /** The path prefix of every URL of the service; empty without a prefix. */
  readonly basePath: string
  readonly config: BodyLimits
}

/** The parsed URL and method of a request. */
export interface Addressed {
  readonly method: Method | null
  readonly segments: readonly string[]
  readonly query: Params
}

export class Locator {
  readonly #deps: LocatorDeps
  readonly #table: RouteTable

  constructor(routes: readonly Route[], deps: LocatorDeps) {
    this.#deps = deps
    this.#table = new RouteTable(routes)
  }

  /**
   * Parses the URL. Redirects and preflight requests are answered here, before a route is known.
   *
   * @throws ServiceError `uri_too_long`, `bad_request`, `not_implemented`, `not_found` outside the path prefix
   */
  address(request: HttpRequest): Addressed | { readonly answer: HttpResponse } {
    const { path: fullPath, query, fault } = request
    if (fullPath.length + query.length > longestAddress) throw new ServiceError('uri_too_long')
    if (fault !== null) throw new ServiceError('bad_request', `Cannot serve this request: ${fault}`)
    const method = methodOf(request)
    const path = this.withoutPrefix(fullPath)
    const segments = droppedSlash(decodePath(path))
    if (segments === 'redirect') {
      const target = `${this.#deps.baseUrl}${path.slice(0, -1)}${query === '' ? '' : `?${query}`}`
      return { answer: redirect(307, target) }
    }
    const preflight = request.method === 'OPTIONS' ? this.#preflight(request, segments) : null
    if (preflight !== null) return { answer: preflight }
    return { method, segments, query: Params.parse(query, maxQueryFields, 'query') }
  }

  /** Returns the method that `_method` names. Only a form must be read for it. */
  override(request: HttpRequest, { method, segments, query }: Addressed): Promise<Method | null> | Method | null {
    // curl sends any body as a form by default.
    if (method === 'POST' && isUrlencoded(request) && this.#readsStream(segments)) return null
    return overriddenMethod(request, query, this.#deps.config)
  }

  #readsStream(segments: readonly string[]): boolean {
    return this.#table.find('POST', segments).match?.route.request?.isStream === true
  }

  /** @throws ServiceError `not_found`, `method_not_allowed` */
  match(
    request: HttpRequest,
    { method, segments }: Addressed,
    override: Method | null,
  ): { readonly match: Match; readonly method: Method } {
    if (override !== null) {
      // When the path does not have the overriding method, the request keeps the method that was sent.
      const found = this.#table.find(override, segments)
      if (found.match !== null) return { match: found.match, method: override }
    }
    const { match } = this.#table.find(method, segments)
    const isServed = match !== null && !(request.method === 'HEAD' && match.route.takesNoHead === true)
    if (isServed && method !== null) return { match, method }
    throw noRoute(this.#table.at(segments))
  }

  /** @throws ServiceError `not_found` for a path outside the prefix. */
  withoutPrefix(path: string): string {
    const { basePath } = this.#deps
    if (basePath === '') return path
    if (path === basePath) return '/'
    if (path.startsWith(`${basePath}/`)) return path.slice(basePath.length)
    // RFC 8414 section 3.1 and RFC 9728 section 3.1 put the name of a document before the path prefix.
    const [, document = '', of = ''] = /^(\/\.well-known\/[\w-]+)(\/.*)$/.exec(path) ?? []
    if (of === basePath || of.startsWith(`${basePath}/`)) return `${document}${of.slice(basePath.length)}`
    throw new ServiceError('not_found', 'There is nothing at this address: the service lives under a path prefix')
  }

  /** Answers OPTIONS at routes with CORS and below `/oauth`. Returns null for other paths. */
  #preflight(request: HttpRequest, segments: readonly string[]): HttpResponse | null {
    const rows = preflightRows(this.#table.at(segments))
    if (rows.length === 0) return null
    const family = rows.find((route) => route.cors !== undefined)?.cors ?? null
    return this.#deps.cors.preflight(request, family, allowedAt(rows))
  }
}

/** Routes below an actor that servers of the protocol also serve with a trailing slash at any depth. */
const slashed = new Set(['trust', 'subscriptions', 'callbacks', 'permissions'])

/**
 * Drops a trailing slash. `/<actor>/` redirects to `/<actor>`; `/<actor>/properties/` is served as `/<actor>/properties`. Below
 * `/<actor>/properties/x`, an empty segment would be a name.
 */
function droppedSlash(segments: readonly string[]): readonly string[] | 'redirect' {
  if (segments.at(-1) !== '' || segments[0] === '') return segments
  if (segments.length === 2) return 'redirect'
  return segments.length === 3 || slashed.has(segments[1] ?? '') ? segments.slice(0, -1) : segments
}

/** Returns the routes whose path answers OPTIONS. */
function preflightRows(rows: readonly Route[]): readonly Route[] {
  return rows.filter((route) => route.cors !== undefined || route.path.startsWith('/oauth/'))
}

/** Returns all methods for the `Allow` header, in alphabetical order. */
function allowedAt(rows: readonly Route[]): string[] {
  const methods = new Set<string>(rows.map((route) => route.method))
  if (rows.some((route) => route.method === 'GET' && route.takesNoHead !== true)) methods.add('HEAD')
  if (preflightRows(rows).length > 0) methods.add('OPTIONS')
  return [...methods].sort()
}

function noRoute(rows: readonly Route[]): ServiceError {
  if (rows.length === 0) return new ServiceError('not_found', 'There is nothing at this address')
  const names = allowedAt(rows).join(', ')
  return new ServiceError('method_not_allowed', `Cannot serve this method: the URL allows ${names}`, {
    headers: { Allow: names },
  })
}
