/** `/<actor>/remote/<peer>`: the copy of a peer's data that subscriptions update, for the owner's own pages and clients. */
import type { Actor } from '../../../actor/actor.ts'
import { quoted, ServiceError } from '../../../errors.ts'
import type { ValuesOf } from '../../../json/fields.ts'
import { known } from '../../../json/json.ts'
import {
  maxQueried,
  isQuery,
  rangeEnd,
  rangeStart,
  readItemQuery,
  writeCursor,
  itemsSchema,
  listPartQuery,
  whereGroup,
  whereOf,
} from '../../../property/item-query.ts'
import type { RemoteListAddress } from '../../../replica/copy/remote-list.ts'
import type { RemoteReader } from '../../../replica/remote-reader.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, errorResponses } from '../../dispatch/schemas.ts'
import { type HttpResponse, jsonText, withNextPage } from '../../edge/response.ts'

const path = '/:actor/remote/:peerid/:name'

export interface RemoteRouteDeps {
  readonly remoteReader: RemoteReader
}

export function remoteRoutes(deps: RemoteRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getRemoteValue',
      method: 'GET',
      path,
      access: 'remote',
      summary: 'Returns a value in the copy of a peer’s data',
      responses: { 200: { text: 'The value', schema: anyValue }, ...errorResponses(400), ...actorErrors },
      handler: (exchange) => getValue(deps, exchange),
    }),
    defineRoute({
      id: 'getRemoteItems',
      method: 'GET',
      path: `${path}/items`,
      access: 'remote',
      summary: 'Returns the items of a list in the copy of a peer’s data: a range, or those that match a query',
      query: listPartQuery,
      queryGroups: whereGroup,
      responses: { 200: { text: 'The items', schema: itemsSchema }, ...errorResponses(400), ...actorErrors },
      handler: (exchange) => getItems(deps, exchange),
    }),
  ]
}

type RemoteExchange = ActorExchange<'peerid' | 'name'>

async function getValue({ remoteReader }: RemoteRouteDeps, { actor, params }: RemoteExchange): Promise<HttpResponse> {
  const found = await remoteReader.value(addressOf(actor, params))
  if (found === null) throw notCopied(params)
  if (found === 'list')
    throw new ServiceError(
      'bad_request',
      `Cannot return ${quoted(params.name)}: it is a list. Read its items at …/items.`,
    )
  return jsonText(200, found)
}

async function getItems(
  { remoteReader }: RemoteRouteDeps,
  { actor, params, query, request }: ActorExchange<'peerid' | 'name', ValuesOf<typeof listPartQuery>>,
): Promise<HttpResponse> {
  const where = whereOf(request.query)
  const address = addressOf(actor, params)
  if (!isQuery(query, where)) return rangeItems({ remoteReader }, address, params, query)
  const { items, next } = await remoteReader.query(address, readItemQuery({ ...query, where }))
  const after = writeCursor(next)
  const response = itemsResponse(
    items.map(({ item }) => `{"item":${item}}`),
    after === null ? {} : { next: after },
  )
  if (after === null) return response
  return withNextPage(response, { ...Object.fromEntries(new URLSearchParams(request.query)), after })
}

async function rangeItems(
  { remoteReader }: RemoteRouteDeps,
  address: RemoteListAddress,
  params: RemoteExchange['params'],
  { start = 0, limit = maxQueried, after }: ValuesOf<typeof listPartQuery>,
): Promise<HttpResponse> {
  const begin = rangeStart(after)
  const found = await remoteReader.range(address, begin ?? { position: start, anchors: [] }, limit)
  if (found === null) throw notCopied(params)
  const { items, places, from, length: count } = found
  const end = from + items.length
  const texts = items.map((item, at) => `{"index":${from + at},"item":${item}}`)
  if (end >= count) return itemsResponse(texts, { count })
  const cursor = rangeEnd(end, places, begin)
  const response = itemsResponse(texts, { count, next: begin === null ? end : cursor, after: cursor })
  return withNextPage(response, { limit: String(limit), after: cursor })
}

function itemsResponse(items: readonly string[], members: Readonly<Record<string, number | string>>): HttpResponse {
  const further = Object.entries(members).map(([name, value]) => `,"${name}":${JSON.stringify(value)}`)
  return jsonText(200, known(`{"items":[${items.join(',')}]${further.join('')}}`))
}

function addressOf(actor: Actor, { peerid, name }: RemoteExchange['params']): RemoteListAddress {
  return { actorId: actor.id, peerId: peerid, name }
}

function notCopied({ peerid, name }: RemoteExchange['params']): ServiceError {
  return new ServiceError(
    'not_found',
    `Cannot find ${quoted(name)}: this actor has no copy of it from the peer ${quoted(peerid)}. Subscribe to the peer first`,
  )
}
