/** `/<actor>/properties`: all of them at once, and one of them, a value or a list. */
import { ServiceError } from '../../../errors.ts'
import { isString, type JsonText, known, object, stringText, stringValue } from '../../../json/json.ts'
import type { Access } from '../../../property/access.ts'
import type { BulkWrite } from '../../../property/bulk-write.ts'
import type { ListReader, ListSize } from '../../../property/list-reader.ts'
import type { Properties } from '../../../property/properties.ts'
import { propertyNotFound } from '../../../property/property-errors.ts'
import { holdsItems } from '../../../property/kinds.ts'
import { absent } from '../../../json/absent.ts'
import { acceptsJsonByName } from '../../edge/accepts.ts'
import { type Answer, jsonStream, jsonText, noContent, text } from '../../edge/response.ts'
import { type Body, type BodyLimits, isUrlencoded, readJsonOrForm, readValue } from '../../edge/body.ts'
import type { Params } from '../../edge/params.ts'
import { fullPieces, fullView, listingView, metadataView } from './property-listing.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, writeErrors } from '../../dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'

const object_ = { type: 'object' } as const
const formAndJson = {
  'application/json': object_,
  'application/x-www-form-urlencoded': object_,
  'multipart/form-data': object_,
}
const value = { 'application/json': anyValue, 'text/plain': { type: 'string' } }
const listing = {
  format: '"full" adds the items of lists; anything else gives their counts',
  metadata: '"true" gives names, counts and sizes instead of values',
}
const index = { index: 'Position of a list item; negative ones count from the end when reading' }

export interface PropertyRouteDeps extends BaseUrl {
  readonly properties: Properties
  readonly listReader: ListReader
  readonly bulkWrite: BulkWrite
  readonly config: BodyLimits
}

export function propertyRoutes(deps: PropertyRouteDeps): readonly Route[] {
  return [...allPropertiesRoutes(deps), ...onePropertyRoutes(deps)]
}

function allPropertiesRoutes(deps: PropertyRouteDeps): readonly Route[] {
  return [
    {
      id: 'listProperties',
      method: 'GET',
      path: '/:actor/properties',
      access: 'properties',
      summary: 'All properties and lists',
      query: listing,
      responses: { 200: { text: 'Values by name, then lists', schema: object_ }, ...actorErrors },
      handler: (exchange) => listAll(deps, exchange),
    },
    {
      id: 'postProperties',
      method: 'POST',
      path: '/:actor/properties',
      access: 'properties',
      summary: 'Sets several properties, creates lists, changes list items; all or nothing',
      request: formAndJson,
      responses: { 201: { text: 'What was stored', schema: object_ }, ...writeErrors },
      handler: (exchange) => postAll(deps, exchange),
    },
    {
      id: 'putProperties',
      method: 'PUT',
      path: '/:actor/properties',
      access: 'properties',
      summary: 'Sets several properties, as POST; names that are not given stay',
      request: { 'application/json': object_ },
      responses: { 204: 'Stored', ...writeErrors },
      handler: (exchange) => putAll(deps, exchange),
    },
    {
      id: 'deleteProperties',
      method: 'DELETE',
      path: '/:actor/properties',
      access: 'properties',
      summary: 'Removes all properties and all lists',
      responses: { 204: 'Removed', ...actorErrors },
      handler: async ({ actor, caller }) => {
        await deps.properties.deleteAll({ actor, caller })
        return noContent()
      },
    },
  ]
}

function onePropertyRoutes(deps: PropertyRouteDeps): readonly Route[] {
  return [
    {
      id: 'getProperty',
      method: 'GET',
      path: '/:actor/properties/:name/*',
      access: 'properties',
      summary: 'A property, something inside it, a list or one of its items',
      query: { ...index, format: '"short" gives a list’s facts instead of its items' },
      responses: {
        200: { text: 'The value; a top-level text as text/plain unless JSON is asked for', schema: anyValue },
        ...actorErrors,
      },
      handler: (exchange) => getOne(deps, exchange),
    },
    {
      id: 'putProperty',
      method: 'PUT',
      path: '/:actor/properties/:name/*',
      access: 'properties',
      summary: 'Sets a property, merges below it, or replaces a list item (at the length: appends)',
      query: index,
      request: value,
      responses: { 204: 'Stored', ...writeErrors },
      handler: (exchange) => putOne(deps, exchange),
    },
    {
      id: 'postProperty',
      method: 'POST',
      path: '/:actor/properties/:name/*',
      access: 'properties',
      summary: 'Appends to a list, or sets a property',
      request: value,
      responses: { 201: { text: 'The value, with its address', schema: anyValue }, ...writeErrors },
      handler: (exchange) => postOne(deps, exchange),
    },
    {
      id: 'deleteProperty',
      method: 'DELETE',
      path: '/:actor/properties/:name/*',
      access: 'properties',
      summary: 'Removes a property, a key inside it, a list or one of its items',
      query: index,
      responses: { 204: 'Removed', ...actorErrors },
      handler: (exchange) => deleteOne(deps, exchange),
    },
  ]
}

async function listAll(deps: PropertyRouteDeps, { query, actor, caller }: ActorExchange): Promise<Answer> {
  const access = { actor, caller }
  const format = query.get('format')
  const wantsMetadata = query.get('metadata') === 'true'
  if (wantsMetadata && format !== undefined)
    throw new ServiceError('bad_request', 'Cannot give both metadata and a format')
  if (format === 'full') return listFull(deps, access)
  const shown = await deps.properties.listed(access)
  if (!wantsMetadata) return jsonText(200, listingView(shown))
  const sizes: ListSize[] = []
  for (const property of shown) {
    if (holdsItems(property.kind)) sizes.push(await deps.listReader.size(access, property))
  }
  return jsonText(200, metadataView(shown, sizes))
}

async function listFull(deps: PropertyRouteDeps, access: Access): Promise<Answer> {
  const everything = await deps.properties.everything(access)
  const whole = fullView(everything)
  if (whole !== null) return jsonText(200, whole)
  return jsonStream(
    200,
    fullPieces(everything, (name) => deps.listReader.open(access, name)),
  )
}

async function postAll(deps: PropertyRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, query, actor, caller } = exchange
  const body = await readJsonOrForm(request, deps.config)
  const given =
    body.kind === 'json' ? body.json : formBody(body.kind === 'form' ? body.form : body.kind === 'none' ? query : null)
  return jsonText(201, await deps.bulkWrite.write({ actor, caller }, given, 'post'))
}

/** A form's fields as the JSON body they stand for; `property` names one property with its type, else each field is one. */
function formBody(form: Params | null): JsonText {
  if (form === null || form.entries.size === 0)
    throw new ServiceError('invalid_json', 'Cannot set properties: the body is neither JSON nor a form')
  const name = form.get('property')
  if (name === undefined)
    return object(
      [...form.entries]
        .filter(([field]) => field !== '_method')
        .map(([field, text]) => [field, stringText(text)] as const),
    )
  const type = form.get('property_type') ?? 'simple'
  if (type === 'list') {
    const texts = ['description', 'explanation'].flatMap((field) => {
      const given = form.get(field)
      return given === undefined ? [] : [[field, stringText(given)] as const]
    })
    return object([[name, object([['_type', known('"list"')], ...texts])]])
  }
  const given = form.get('value')
  if (type !== 'simple' || given === undefined)
    throw new ServiceError('bad_request', 'Cannot set the property: the form needs a value, or property_type "list"')
  return object([[name, stringText(given)]])
}

async function putAll(deps: PropertyRouteDeps, { request, actor, caller }: ActorExchange): Promise<Answer> {
  const body = await readValue(request, deps.config)
  if (body.kind !== 'json') throw new ServiceError('invalid_json', 'Cannot set properties: the body is not JSON')
  await deps.bulkWrite.write({ actor, caller }, body.json, 'put')
  return noContent()
}

function pathOf({ params, rest }: ActorExchange): string[] {
  return [params['name'] ?? '', ...rest]
}

async function getOne(deps: PropertyRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, query, actor, caller } = exchange
  const path = pathOf(exchange)
  const isShort = query.get('format') === 'short'
  const found = await deps.properties.read({ actor, caller }, { path, index: query.get('index'), isShort })
  if (found === null) throw propertyNotFound(path)
  if ('pieces' in found) return jsonStream(200, found.pieces)
  const isBareText = found.isWhole && isString(found.json) && !acceptsJsonByName(request)
  return isBareText ? text(200, stringValue(found.json) ?? '') : jsonText(200, found.json)
}

async function putOne(deps: PropertyRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, query, actor, caller } = exchange
  const given = valueOf(await readValue(request, deps.config), isUrlencoded(request) && request.method === 'POST')
  await deps.properties.put({ actor, caller }, { path: pathOf(exchange), index: query.get('index') }, given)
  return noContent()
}

/** An empty body is the empty text. In a form with `_method=PUT` the field `value` is the body. */
function valueOf(body: Body, isForm: boolean): JsonText {
  if (body.kind === 'json') return body.json
  if (body.kind !== 'text') return absent
  return stringText(isForm ? (new URLSearchParams(body.text).get('value') ?? '') : body.text)
}

async function postOne(deps: PropertyRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, actor, caller } = exchange
  const path = pathOf(exchange)
  const given = valueOf(await readValue(request, deps.config), false)
  const { value: stored, position } = await deps.properties.add({ actor, caller }, path, given)
  const url = `${urlOf(deps, actor.id)}/properties/${path.map(encodeURIComponent).join('/')}`
  return jsonText(201, stored, { Location: position === null ? url : `${url}/${position}` })
}

async function deleteOne(deps: PropertyRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { query, actor, caller } = exchange
  await deps.properties.remove({ actor, caller }, { path: pathOf(exchange), index: query.get('index') })
  return noContent()
}
