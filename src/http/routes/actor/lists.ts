/** `/<actor>/properties/<list>/items` and `/metadata`. */
import { ServiceError } from '../../../errors.ts'
import { choiceField, integerField, jsonField, nullable, optional, type ValuesOf } from '../../../json/fields.ts'
import { type JsonText, known } from '../../../json/json.ts'
import { present } from '../../../json/present.ts'
import { listTextFields } from '../../../list/list-texts.ts'
import { indexFromJson, type ListTexts } from '../../../list/list.ts'
import type { ListReader, ListSpan } from '../../../property/list-reader.ts'
import type { ListWriter } from '../../../property/list-writer.ts'
import { type HttpResponse, json, jsonStream, jsonText, noContent } from '../../edge/response.ts'
import { itemPieces, itemView } from '../../../property/list-json.ts'
import { isKnownTag, notModified, tagged, writeAccess } from './entity-tags.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, writeErrors } from '../../dispatch/schemas.ts'
import type { Properties } from '../../../property/properties.ts'
import { propertyNotFound } from '../../../property/property-errors.ts'

const items = {
  type: 'object',
  properties: {
    items: { type: 'array', items: { type: 'object', properties: { index: { type: 'integer' }, item: anyValue } } },
    count: { type: 'integer', description: 'The length of the entire list' },
  },
}
const texts = { type: 'object', properties: { description: { type: 'string' }, explanation: { type: 'string' } } }

/** Maximum number of items in one range. */
const mostItems = 1000

const rangeQuery = {
  start: optional(integerField('The index of the first item. Default: 0')),
  limit: optional(integerField('Maximum number of items. Default: all', { least: 1, most: mostItems })),
}
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
  return [
    defineRoute({
      id: 'getListItems',
      method: 'GET',
      path: '/:actor/properties/:name/items',
      access: 'properties',
      summary: 'Returns the items of a list with their indexes, all or a range',
      query: rangeQuery,
      conditions: 'read',
      responses: { 200: { text: 'The items', schema: items }, ...actorErrors },
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
  ]
}

async function getItems(
  deps: ListRouteDeps,
  exchange: ActorExchange<'name', ValuesOf<typeof rangeQuery>>,
): Promise<HttpResponse> {
  const { request, actor, caller } = exchange
  const { name } = exchange.params
  const access = { actor, caller }
  const found = await deps.properties.findList(access, name)
  if (found === null) return nestedKey(deps, exchange, name, 'items')
  const tag = found.version(null)
  if (tag !== null && isKnownTag(request, tag)) return notModified(tag)
  const range = rangeOf(exchange.query)
  const reading =
    range === undefined
      ? await deps.listReader.openFound(access, found.property)
      : await deps.listReader.open(access, name, range)
  if (reading === null) throw propertyNotFound([name, 'items'])
  if (!reading.isComplete) return tagged(request, jsonStream(200, itemPieces(reading)), tag)
  const view = itemView(reading)
  return tagged(request, jsonText(200, view), found.version(view))
}

/** Returns undefined for the entire list. */
function rangeOf({ start, limit }: ValuesOf<typeof rangeQuery>): ListSpan | undefined {
  if (start === undefined && limit === undefined) return undefined
  const from = start ?? 0
  return { from, to: limit === undefined ? null : from + limit }
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
