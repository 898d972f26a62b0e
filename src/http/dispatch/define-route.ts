/** Makes a row of the route table whose handler receives typed values from the row's schemas. */
import { quoted, ServiceError } from '../../errors.ts'
import { readFields, type RequestField, type RequestFields, type ValuesOf } from '../../json/fields.ts'
import { stringText } from '../../json/json.ts'
import { Params } from '../edge/params.ts'
import type { HttpResponse } from '../edge/response.ts'
import { jsonOf, type RequestBody } from './request-body.ts'
import type { ActorExchange, Exchange, Method, Route } from './route.ts'

type Access = Route['access']
type RowOf<A extends Access, R = Route> = R extends { readonly access: infer X } ? (A extends X ? R : never) : never

type ParamNames<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? ParamNames<Head> | ParamNames<Tail>
  : Path extends `:${infer Name}`
    ? Name
    : never

/** Reads the body when the handler calls it, so the body of a refused caller is never read. */
export interface Bodied<B> {
  readonly body: () => Promise<B>
}

interface Schemas<A extends Access, Path extends string, P extends RequestFields, Q extends RequestFields, B> {
  readonly access: A
  readonly path: Path
  readonly params?: P
  readonly query?: Q
  readonly request?: RequestBody<B>
  readonly handler: (
    exchange: Omit<Parameters<RowOf<A>['handler']>[0], 'params' | 'query'> &
      Bodied<B> & {
        readonly params: Readonly<Record<Exclude<ParamNames<Path>, keyof P>, string>> & ValuesOf<P>
        readonly query: ValuesOf<Q>
      },
  ) => Promise<HttpResponse> | HttpResponse
}

type NoFields = Readonly<Record<symbol, never>>

/** Defines a route. Its handler runs after admission, when the path and query match their schemas. */
export function defineRoute<
  const A extends Access,
  const Path extends string,
  P extends RequestFields = NoFields,
  Q extends RequestFields = NoFields,
  B = undefined,
>(row: Omit<RowOf<A>, keyof Schemas<A, Path, P, Q, B>> & Schemas<A, Path, P, Q, B>): Route {
  const { params, query, request, handler } = row
  const isOpen = row.unknownQuery === 'ignored' || row.page === true || row.access === 'www'
  const known = isOpen ? null : new Set(namesOf(query, request?.inQuery))
  const groups = Object.keys(row.queryGroups ?? {})
  const readQuery = queryReader(query ?? {})
  const typed = (exchange: Exchange<string, Params>): unknown => {
    if (known !== null) judgeUnknown(row.method, { known, groups }, exchange)
    return {
      ...exchange,
      params: params === undefined ? exchange.params : { ...exchange.params, ...readSegments(params, exchange.params) },
      query: readQuery(exchange.query),
      body: async () => request?.read(exchange),
    }
  }
  return {
    ...row,
    handler: (exchange: Exchange<string, Params>) => handler(typed(exchange) as Parameters<typeof handler>[0]),
  } as unknown as Route
}

/** Finds the name that a request means. */
export interface NameFinder {
  readonly nameOf: (actorId: string, name: string) => Promise<string> | string
}

/**
 * The routes, with the stored name of the property in place of the segment `:name`. Rights and hooks are then those of the
 * property that is read or written, whatever form of its name a client sends.
 */
export function withStoredNames(properties: NameFinder, routes: readonly Route[]): readonly Route[] {
  return routes.map((route) => {
    if (!route.path.includes('/:name')) return route
    const handler = route.handler as (exchange: ActorExchange) => Promise<HttpResponse> | HttpResponse
    return {
      ...route,
      handler: async (exchange: ActorExchange) => {
        const given = exchange.params['name'] ?? ''
        const name = await properties.nameOf(exchange.actor.id, given)
        return handler(name === given ? exchange : { ...exchange, params: { ...exchange.params, name } })
      },
    } as Route
  })
}

/** Most requests have no query, and then share one object with the defaults. */
function queryReader(fields: RequestFields): (query: Params) => object {
  const read = (query: Params): object => readFields(fields, jsonOf(query), refusedParameter)
  const isOptional = Object.values(fields).every(({ isRequired }) => !isRequired)
  const none = isOptional ? Object.freeze(read(Params.none)) : null
  return (query) => (none !== null && query.entries.size === 0 ? none : read(query))
}

function namesOf(...fields: readonly (RequestFields | undefined)[]): string[] {
  return fields.flatMap((each) => Object.keys(each ?? {}))
}

interface KnownQuery {
  readonly known: ReadonlySet<string>
  readonly groups: readonly string[]
}

/**
 * Refuses unknown query parameters of a change. A read ignores them, because caches, trackers and later versions of peers add
 * parameters, and a response in development names them.
 */
function judgeUnknown(method: Method, given: KnownQuery, { query, noteIgnored }: Exchange<string, Params>): void {
  const unknown = [...query.entries.keys()].filter((name) => !isKnown(name, given))
  const [first] = unknown
  if (first === undefined) return
  if (method === 'GET') return noteIgnored(unknown)
  const { known, groups } = given
  const names =
    known.size === 0 ? 'no query parameters' : [...known, ...groups.map((group) => `${group}[…]`)].join(', ')
  throw new ServiceError('bad_request', `Unknown query parameter ${quoted(first)}: expected ${names}.`)
}

/** Names ignore case. `_method` overrides the method at every URL. */
function isKnown(name: string, { known, groups }: KnownQuery): boolean {
  const lower = name.toLowerCase()
  if (known.has(lower) || lower === '_method') return true
  return groups.some((group) => name.startsWith(`${group}[`) && name.endsWith(']'))
}

function refusedParameter(name: string, _why: string, { expected }: RequestField<unknown>): ServiceError {
  return new ServiceError('bad_request', `Invalid ${name}: expected ${expected}.`)
}

/** Reads the path segments by their schemas. An invalid segment is 404, because no resource can have that path. */
function readSegments<P extends RequestFields>(fields: P, params: Readonly<Record<string, string>>): ValuesOf<P> {
  return readFields(
    fields,
    (name) => stringText(params[name] ?? ''),
    (name, why) => new ServiceError('not_found', `There is nothing at this address: ${name} ${why}`),
  )
}
