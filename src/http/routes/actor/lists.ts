/** `/<actor>/properties/<list>/items` and `/metadata`. */
import { ServiceError } from '../../../errors.ts'
import { isNull, isObject, type JsonText, members, stringValue } from '../../../json/json.ts'
import { readTexts } from '../../../list/list-texts.ts'
import { indexFromJson } from '../../../list/list.ts'
import type { ListReader, ListSpan } from '../../../property/list-reader.ts'
import type { ListWriter } from '../../../property/list-writer.ts'
import { type Answer, json, jsonStream, jsonText, noContent } from '../../edge/response.ts'
import { type BodyLimits, readJson } from '../../edge/body.ts'
import type { Params } from '../../edge/params.ts'
import { itemPieces, itemView } from '../../../property/list-json.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, writeErrors } from '../../dispatch/schemas.ts'
import type { Properties } from '../../../property/properties.ts'
import { propertyNotFound } from '../../../property/property-errors.ts'

const items = {
  type: 'object',
  properties: {
    items: { type: 'array', items: { type: 'object', properties: { index: { type: 'integer' }, item: anyValue } } },
    count: { type: 'integer', description: 'The length of the whole list' },
  },
}
const texts = { type: 'object', properties: { description: { type: 'string' }, explanation: { type: 'string' } } }

/** Items of one range. */
const mostItems = 1000

export interface ListRouteDeps {
  readonly properties: Properties
  readonly listReader: ListReader
  readonly listWriter: ListWriter
  readonly config: BodyLimits
}

export function listRoutes(deps: ListRouteDeps): readonly Route[] {
  return [
    {
      id: 'getListItems',
      method: 'GET',
      path: '/:actor/properties/:name/items',
      access: 'properties',
      summary: 'The items of a list with their indexes, all of them or a range',
      query: {
        start: 'The index of the first item, from 0. Default: 0',
        limit: `How many items at most, from 1 to ${mostItems}. Default: all`,
      },
      responses: { 200: { text: 'The items', schema: items }, ...actorErrors },
      handler: (exchange) => getItems(deps, exchange),
    },
    {
      id: 'changeListItem',
      method: 'POST',
      path: '/:actor/properties/:name/items',
      access: 'properties',
      summary: 'Adds, updates or deletes one item',
      request: {
        'application/json': {
          type: 'object',
          required: ['action'],
          properties: {
            action: { enum: ['add', 'update', 'delete'] },
            item_value: anyValue,
            item_index: { type: 'integer' },
          },
        },
      },
      responses: { 201: { text: 'Added', schema: { type: 'object' } }, 204: 'Updated or deleted', ...writeErrors },
      handler: (exchange) => changeItem(deps, exchange),
    },
    {
      id: 'getListMetadata',
      method: 'GET',
      path: '/:actor/properties/:name/metadata',
      access: 'properties',
      summary: 'What a list says about itself',
      responses: { 200: { text: 'The metadata', schema: texts }, ...actorErrors },
      handler: (exchange) => getMetadata(deps, exchange),
    },
    {
      id: 'putListMetadata',
      method: 'PUT',
      path: '/:actor/properties/:name/metadata',
      access: 'properties',
      summary: 'Changes description and explanation',
      request: { 'application/json': texts },
      responses: { 204: 'Changed', ...writeErrors },
      handler: (exchange) => putMetadata(deps, exchange),
    },
  ]
}

async function getItems(deps: ListRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { params, actor, caller } = exchange
  const name = params['name'] ?? ''
  const reading = await deps.listReader.open({ actor, caller }, name, rangeOf(exchange.query))
  if (reading === null) return nestedKey(deps, exchange, name, 'items')
  return reading.isComplete ? jsonText(200, itemView(reading)) : jsonStream(200, itemPieces(reading))
}

/** Undefined for the whole list. @throws ServiceError `bad_request` */
function rangeOf(query: Params): ListSpan | undefined {
  const start = integerIn(query, 'start', 0, Number.MAX_SAFE_INTEGER)
  const limit = integerIn(query, 'limit', 1, mostItems)
  if (start === null && limit === null) return undefined
  const from = start ?? 0
  return { from, to: limit === null ? null : from + limit }
}

function integerIn(query: Params, name: string, least: number, most: number): number | null {
  const given = query.get(name)
  if (given === undefined) return null
  const value = /^[0-9]{1,16}$/.test(given) ? Number(given) : Number.NaN
  if (value >= least && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`
  throw new ServiceError('bad_request', `Invalid ${name}: expected a whole number ${range}.`)
}

/** A value may have a key of this name: `/properties/cart/items` is that key when `cart` is no list. */
async function nestedKey(
  deps: ListRouteDeps,
  { actor, caller }: ActorExchange,
  name: string,
  key: string,
): Promise<Answer> {
  const path = [name, key]
  const found = await deps.properties.read({ actor, caller }, { path })
  if (found === null || 'pieces' in found) throw propertyNotFound(path)
  return jsonText(200, found.json)
}

async function changeItem(deps: ListRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, params, actor, caller } = exchange
  const access = { actor, caller }
  const name = params['name'] ?? ''
  const fields = readObject(await readJson(request, deps.config))
  const action = stringValue(fields.get('action') ?? ('null' as JsonText))
  const value = fields.get('item_value')
  const item = value === undefined || isNull(value) ? null : value
  switch (action) {
    case 'add':
      if (item === null) throw missing('item_value')
      return json(201, { success: true, index: (await deps.listWriter.append(access, name, item)).index })
    case 'update': {
      const index = requireIndex(fields)
      if (item === null) throw missing('item_value')
      if (!(await deps.listWriter.update(access, name, index, item))) throw beyond(index)
      return noContent()
    }
    case 'delete': {
      const index = requireIndex(fields)
      if (!(await deps.listWriter.deleteItem(access, name, index))) throw beyond(index)
      return noContent()
    }
    default:
      throw new ServiceError('bad_request', 'Cannot change the list: action must be "add", "update" or "delete"')
  }
}

function requireIndex(fields: ReadonlyMap<string, JsonText>): number {
  const index = fields.get('item_index')
  if (index === undefined || isNull(index)) throw missing('item_index')
  return indexFromJson(index)
}

function missing(field: string): ServiceError {
  return new ServiceError('bad_request', `Cannot change the list: ${field} is missing`)
}

function beyond(index: number): ServiceError {
  return new ServiceError('invalid_index', `Cannot change the list: it has no item ${index}`)
}

async function getMetadata(deps: ListRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { params, actor, caller } = exchange
  const name = params['name'] ?? ''
  const metadata = await deps.listReader.metadata({ actor, caller }, name)
  if (metadata === null) return nestedKey(deps, exchange, name, 'metadata')
  return json(200, { name, _list: true, count: metadata.length, ...metadata })
}

async function putMetadata(deps: ListRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, params, actor, caller } = exchange
  const given = readTexts(readObject(await readJson(request, deps.config)))
  if (given.description === undefined && given.explanation === undefined) {
    throw new ServiceError(
      'bad_request',
      'Cannot change the metadata: the body has neither description nor explanation',
    )
  }
  await deps.listWriter.setTexts({ actor, caller }, params['name'] ?? '', given)
  return noContent()
}

function readObject(body: JsonText): ReadonlyMap<string, JsonText> {
  const fields = isObject(body) ? members(body) : null
  if (fields === null) throw new ServiceError('bad_request', 'Cannot change the list: the body must be a JSON object')
  return fields
}
