/** `/<actor>/properties/<list>/items` and `/metadata`. */
import { ServiceError } from '../../../errors.ts'
import { choiceField, jsonField, nullable, type ValuesOf } from '../../../json/fields.ts'
import { type JsonText, known } from '../../../json/json.ts'
import { present } from '../../../json/present.ts'
import { listTextFields } from '../../../list/list-texts.ts'
import { type FoundItems, type IndexEntry, indexFromJson, type ListTexts, type PageStart } from '../../../list/list.ts'
import type { ListSpan } from '../../../property/lists/list-queries.ts'
import type { ListReader } from '../../../property/lists/list-reader.ts'
import type { ListWriter } from '../../../property/lists/list-writer.ts'
import { acceptsLines } from '../../edge/accepts.ts'
import {
  type HttpResponse,
  json,
  jsonStream,
  jsonText,
  lineStream,
  noContent,
  withNextPage,
} from '../../edge/response.ts'
import { itemLines, itemPieces, itemView } from '../../../property/lists/list-json.ts'
import {
  type GivenQuery,
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
import { isKnownTag } from '../../edge/content/known-tags.ts'
import { notModified, tagged, writeAccess } from './entity-tags.ts'
import { defineRoute, withStoredNames } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import type { FoundList, Properties } from '../../../property/properties.ts'
import { propertyNotFound } from '../../../property/property-errors.ts'

const texts = { type: 'object', properties: { description: { type: 'string' }, explanation: { type: 'string' } } }

const changeFields = {
  action: choiceField('The change to make', ['add', 'update', 'delete']),
  item_value: nullable(jsonField('The item; not for `delete`')),
  // `add` ignores the index, whatever it is, so only the other actions read it.
  item_index: nullable(jsonField('An integer from 0; ignored by `add`')),
}

export interface ListRouteDeps {
  readonly properties: Properties
  readonly listReader: ListReader
  readonly listWriter: ListWriter
}

export function listRoutes(deps: ListRouteDeps): readonly Route[] {
  return withStoredNames(deps.properties, [
    defineRoute({
      id: 'getListItems',
      method: 'GET',
      path: '/:actor/properties/:name/items',
      access: 'properties',
      summary: 'Returns the items of a list with their indexes, all or a range, or those that match a query',
      query: listPartQuery,
      queryGroups: whereGroup,
      conditions: 'read',
      responses: {
        200: { text: 'The items; with `Accept: application/x-ndjson`, one item on each line', schema: itemsSchema },
        ...errorResponses(400),
        ...actorErrors,
      },
      handler: (exchange) => getItems(deps, exchange),
    }),
    defineRoute({
      id: 'changeListItem',
      method: 'POST',
      path: '/:actor/properties/:name/items',
      access: 'properties',
      summary: 'Adds, updates or deletes one item',
      request: jsonBody('change the list', changeFields),
      conditions: 'write',
      responses: { 201: { text: 'Added', schema: { type: 'object' } }, 204: 'Updated or deleted', ...writeErrors },
      handler: async (exchange) => changeItem(deps, exchange, await exchange.body()),
    }),
    defineRoute({
      id: 'getListMetadata',
      method: 'GET',
      path: '/:actor/properties/:name/metadata',
      access: 'properties',
      summary: 'Returns the metadata of a list',
      conditions: 'read',
      responses: { 200: { text: 'The metadata', schema: texts }, ...actorErrors },
      handler: (exchange) => getMetadata(deps, exchange),
    }),
    defineRoute({
      id: 'putListMetadata',
      method: 'PUT',
      path: '/:actor/properties/:name/metadata',
      access: 'properties',
      summary: 'Changes description and explanation',
      request: jsonBody('change the list', listTextFields),
      conditions: 'write',
      responses: { 204: 'Changed', ...writeErrors },
      handler: async (exchange) => putMetadata(deps, exchange, present(await exchange.body())),
    }),
  ])
}

type ItemsExchange = ActorExchange<'name', ValuesOf<typeof listPartQuery>>

async function getItems(deps: ListRouteDeps, exchange: ItemsExchange): Promise<HttpResponse> {
  const { request, actor, caller, query } = exchange
  const { name } = exchange.params
  const where = whereOf(request.query)
  const found = await deps.properties.findList({ actor, caller }, name)
  if (found === null) return nestedKey(deps, exchange, name, 'items')
  const tag = found.version(null)
  if (tag !== null && !acceptsLines(request) && isKnownTag(request, tag)) return notModified(tag)
  return isQuery(query, where)
    ? queryItems(deps, exchange, { ...query, where }, tag)
    : rangeItems(deps, exchange, found)
}

/** Answers with a range of the list, or with all items. */
async function rangeItems(
  { listReader }: ListRouteDeps,
  { request, params: { name }, actor, caller, query }: ItemsExchange,
  { property, version }: FoundList,
): Promise<HttpResponse> {
  const access = { actor, caller }
  const isLines = acceptsLines(request)
  const start = rangeStart(query.after)
  const span = rangeOf(query, start, isLines)
  const reading =
    span === undefined ? await listReader.openFound(access, property) : await listReader.open(access, name, span)
  if (reading === null) throw propertyNotFound([name, 'items'])
  if (isLines) return lineStream(itemLines(reading))
  const end = reading.from + reading.numbers.length
  const after =
    span !== undefined && span.to !== null && end < reading.metadata.length
      ? rangeEnd(end, reading.numbers, start)
      : null
  const next = after === null ? null : { next: start === null ? end : after, after }
  const whole = reading.isComplete ? itemView(reading, next) : null
  const response = whole === null ? jsonStream(200, itemPieces(reading, next)) : jsonText(200, whole)
  const following = { limit: String(query.limit ?? maxQueried), after: String(after) }
  return tagged(request, after === null ? response : withNextPage(response, following), version(whole))
}

/** Answers a query by fields. With `Accept: application/x-ndjson`, all pages, unless the client gives a limit. */
async function queryItems(
  { listReader }: ListRouteDeps,
  { request, params, actor, caller }: ItemsExchange,
  given: GivenQuery,
  tag: string | null,
): Promise<HttpResponse> {
  const access = { actor, caller }
  const asked = readItemQuery(given)
  const first = await listReader.query(access, params.name, asked)
  if (acceptsLines(request)) {
    const more = given.limit === undefined
    return lineStream(
      foundLines(first, (after) => (more ? listReader.query(access, params.name, { ...asked, after }) : null)),
    )
  }
  const next = writeCursor(first.next)
  const items = first.items.map(({ item }) => `{"item":${item}}`).join(',')
  const response = jsonText(200, known(`{"items":[${items}]${next === null ? '' : `,"next":"${next}"`}}`))
  if (next === null) return tagged(request, response, tag)
  const query = { ...Object.fromEntries(new URLSearchParams(request.query)), after: next }
  return tagged(request, withNextPage(response, query), tag)
}

async function* foundLines(
  first: FoundItems,
  following: (after: IndexEntry) => Promise<FoundItems> | null,
): AsyncGenerator<string> {
  let page: FoundItems | null = first
  while (page !== null) {
    yield page.items.map(({ item }) => `${item}\n`).join('')
    page = page.next === null ? null : await following(page.next)
  }
}

/** Returns undefined for the entire list. */
function rangeOf(
  { start, limit }: ItemsExchange['query'],
  after: PageStart | null,
  isWhole: boolean,
): ListSpan | undefined {
  if (start === undefined && limit === undefined && after === null) return undefined
  const from = after?.position ?? start ?? 0
  return {
    from,
    to: isWhole && limit === undefined ? null : from + (limit ?? maxQueried),
    anchors: after?.anchors ?? [],
  }
}

/** Reads a key of a value: `/properties/cart/items` is the key `items` when `cart` is a value instead of a list. */
async function nestedKey(
  deps: ListRouteDeps,
  { request, actor, caller }: ActorExchange,
  name: string,
  key: string,
): Promise<HttpResponse> {
  const path = [name, key]
  const found = await deps.properties.read({ actor, caller }, { path })
  if (found === null || 'pieces' in found) throw propertyNotFound(path)
  return tagged(request, jsonText(200, found.json), found.version())
}

async function changeItem(
  deps: ListRouteDeps,
  exchange: ActorExchange<'name'>,
  { action, item_value: item, item_index: given }: ValuesOf<typeof changeFields>,
): Promise<HttpResponse> {
  const { name } = exchange.params
  const access = await writeAccess(deps.properties, exchange, [name])
  switch (action) {
    case 'add':
      if (item === undefined) throw missing('item_value')
      return json(201, { success: true, index: (await deps.listWriter.append(access, name, item)).index })
    case 'update': {
      const index = requireIndexOf(given)
      if (item === undefined) throw missing('item_value')
      if (!(await deps.listWriter.update(access, name, index, item))) throw beyond(index)
      return noContent()
    }
    case 'delete': {
      const index = requireIndexOf(given)
      if (!(await deps.listWriter.deleteItem(access, name, index))) throw beyond(index)
      return noContent()
    }
    default:
      return action satisfies never
  }
}

function requireIndexOf(given: JsonText | undefined): number {
  if (given === undefined) throw missing('item_index')
  return indexFromJson(given)
}

function missing(field: string): ServiceError {
  return new ServiceError('bad_request', `Cannot change the list: ${field} is missing`)
}

function beyond(index: number): ServiceError {
  return new ServiceError('invalid_index', `Cannot change the list: it has no item ${index}`)
}

async function getMetadata(deps: ListRouteDeps, exchange: ActorExchange<'name'>): Promise<HttpResponse> {
  const { request, actor, caller } = exchange
  const { name } = exchange.params
  const found = await deps.properties.findList({ actor, caller }, name)
  if (found === null) return nestedKey(deps, exchange, name, 'metadata')
  const metadata = await deps.listReader.foundMetadata({ actor, caller }, found.property)
  if (metadata === null) throw propertyNotFound([name, 'metadata'])
  const view = known(JSON.stringify({ name, _list: true, count: metadata.length, ...metadata }))
  return tagged(request, jsonText(200, view), found.version(view))
}

async function putMetadata(
  deps: ListRouteDeps,
  exchange: ActorExchange<'name'>,
  given: ListTexts,
): Promise<HttpResponse> {
  if (given.description === undefined && given.explanation === undefined) {
    throw new ServiceError(
      'bad_request',
      'Cannot change the metadata: the body has neither description nor explanation',
    )
  }
  const { name } = exchange.params
  await deps.listWriter.setTexts(await writeAccess(deps.properties, exchange, [name]), name, given)
  return noContent()
}
