/** `/<actor>/properties`: all properties at once, and single values and lists. */
import { ServiceError } from '../../../errors.ts'
import {
  hintField,
  jsonField,
  objectSchema,
  optional,
  readFields,
  refusedField,
  stringField,
  type ValuesOf,
} from '../../../json/fields.ts'
import { present } from '../../../json/present.ts'
import { isString, type JsonText, known, object, stringText, stringValue } from '../../../json/json.ts'
import type { Access } from '../../../property/access.ts'
import type { BulkWrite } from '../../../property/bulk-write.ts'
import { readFull } from '../../../property/full-json.ts'
import type { ListReader, ListSize } from '../../../property/lists/list-reader.ts'
import type { Properties } from '../../../property/properties.ts'
import { propertyNotFound } from '../../../property/property-errors.ts'
import { holdsItems } from '../../../property/kinds.ts'
import { acceptsJsonByName } from '../../edge/accepts.ts'
import { type HttpResponse, jsonContent, jsonStream, jsonText, noContent, text } from '../../edge/response.ts'
import { isUrlencoded, readJsonOrForm, readValue } from '../../edge/body.ts'
import type { Params } from '../../edge/params.ts'
import type { HttpRequest } from '../../edge/request.ts'
import type { StoredProperty } from '../../../property/property-store.ts'
import { listingPieces, listingView, metadataView, ValueSizes } from './property-listing.ts'
import { defineRoute, withStoredNames } from '../../dispatch/define-route.ts'
import { jsonOf, type RequestBody, valueBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, writeErrors } from '../../dispatch/schemas.ts'
import { knownTags, tagged, textForm, writeAccess } from './entity-tags.ts'
import { readWithin } from './stale-read.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'

const object_ = { type: 'object' } as const

const formFields = {
  property: optional(stringField('The property that the form sets. Without it, each field is a property')),
  property_type: optional(stringField('`simple` or `list`'), 'simple'),
  value: optional(jsonField('Of a simple property')),
  description: optional(jsonField('Of a list')),
  explanation: optional(jsonField('Of a list')),
}

/** Values by name. The fields of the query replace an empty body. */
const valuesToPost: RequestBody<JsonText> = {
  content: {
    'application/json': object_,
    'application/x-www-form-urlencoded': objectSchema(formFields),
    'multipart/form-data': objectSchema(formFields),
  },
  read: async ({ request, query, bodyLimits }) => {
    const body = await readJsonOrForm(request, bodyLimits)
    if (body.kind === 'json') return body.json
    return formBody(body.kind === 'form' ? body.form : body.kind === 'none' ? query : null)
  },
}

const valuesToPut: RequestBody<JsonText> = {
  content: { 'application/json': object_ },
  read: async ({ request, bodyLimits }) => {
    const body = await readValue(request, bodyLimits)
    if (body.kind !== 'json') throw new ServiceError('invalid_json', 'Cannot set properties: the body is not JSON')
    return body.json
  },
}

/** In a form with `_method=PUT` the field `value` is the body. */
const valueOrField = valueBody((text, { request }) =>
  request.method === 'POST' && isUrlencoded(request) ? (new URLSearchParams(text).get('value') ?? '') : text,
)

const listing = {
  format: optional(stringField('"full" adds the items of lists; anything else gives their counts')),
  metadata: hintField('"true" gives names, counts and sizes instead of values', ['true']),
}
/** Clients send `format` and `metadata` to every property, even where they have no effect. */
const index = {
  index: optional(stringField('Position of a list item; negative ones count from the end when reading')),
  format: hintField('Ignored here', []),
  metadata: hintField('Ignored here', []),
}
const reading = {
  ...index,
  format: hintField('"short" gives a list’s facts instead of its items', ['short']),
}

type OneExchange = ActorExchange<'name', ValuesOf<typeof index>>
type ReadingExchange = ActorExchange<'name', ValuesOf<typeof reading>>

export interface PropertyRouteDeps extends BaseUrl {
  readonly properties: Properties
  readonly listReader: ListReader
  readonly bulkWrite: BulkWrite
}

export function propertyRoutes(deps: PropertyRouteDeps): readonly Route[] {
  return withStoredNames(deps.properties, [...allPropertiesRoutes(deps), ...onePropertyRoutes(deps)])
}

function allPropertiesRoutes(deps: PropertyRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listProperties',
      method: 'GET',
      path: '/:actor/properties',
      access: 'properties',
      summary: 'All properties and lists',
      query: listing,
      conditions: 'read',
      responses: { 200: { text: 'Values by name, then lists', schema: object_ }, ...actorErrors },
      handler: (exchange) => readWithin(deps, exchange, (read) => listAll(read, exchange)),
    }),
    defineRoute({
      id: 'postProperties',
      method: 'POST',
      path: '/:actor/properties',
      access: 'properties',
      summary: 'Sets several properties, creates lists, changes list items; all or nothing',
      request: valuesToPost,
      // With an empty body each parameter is a property.
      unknownQuery: 'ignored',
      conditions: 'write',
      responses: { 201: { text: 'What was stored', schema: object_ }, ...writeErrors },
      handler: async (exchange) => {
        const access = await writeAccess(deps.properties, exchange, null)
        return jsonText(201, await deps.bulkWrite.write(access, await exchange.body(), 'post'))
      },
    }),
    defineRoute({
      id: 'putProperties',
      method: 'PUT',
      path: '/:actor/properties',
      access: 'properties',
      summary: 'Sets several properties, like POST; other properties stay unchanged',
      request: valuesToPut,
      conditions: 'write',
      responses: { 204: 'Stored', ...writeErrors },
      handler: async (exchange) => {
        const access = await writeAccess(deps.properties, exchange, null)
        await deps.bulkWrite.write(access, await exchange.body(), 'put')
        return noContent()
      },
    }),
    defineRoute({
      id: 'deleteProperties',
      method: 'DELETE',
      path: '/:actor/properties',
      access: 'properties',
      summary: 'Removes all properties and all lists. Of more than 2,000, a failure may leave a part',
      conditions: 'write',
      responses: { 204: 'Removed', ...actorErrors },
      handler: async (exchange) => {
        await deps.properties.deleteAll(await writeAccess(deps.properties, exchange, null))
        return noContent()
      },
    }),
  ]
}

function onePropertyRoutes(deps: PropertyRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getProperty',
      method: 'GET',
      path: '/:actor/properties/:name/*',
      access: 'properties',
      summary: 'A property, something inside it, a list or one of its items',
      query: reading,
      conditions: 'read',
      responses: {
        200: { text: 'The value; a top-level string is text/plain unless JSON is requested', schema: anyValue },
        ...actorErrors,
      },
      handler: (exchange) => readWithin(deps, exchange, (read) => getOne(read, exchange)),
    }),
    defineRoute({
      id: 'putProperty',
      method: 'PUT',
      path: '/:actor/properties/:name/*',
      access: 'properties',
      summary: 'Sets a property, merges below it, or replaces a list item (at the length: appends)',
      query: index,
      request: valueOrField,
      conditions: 'write',
      responses: { 204: 'Stored', ...writeErrors },
      handler: async (exchange) => putOne(deps, exchange, await exchange.body()),
    }),
    defineRoute({
      id: 'postProperty',
      method: 'POST',
      path: '/:actor/properties/:name/*',
      access: 'properties',
      summary: 'Appends to a list, or sets a property',
      request: valueBody(),
      conditions: 'write',
      responses: { 201: { text: 'The value, with its address', schema: anyValue }, ...writeErrors },
      handler: async (exchange) => postOne(deps, exchange, await exchange.body()),
    }),
    defineRoute({
      id: 'deleteProperty',
      method: 'DELETE',
      path: '/:actor/properties/:name/*',
      access: 'properties',
      summary: 'Removes a property, a key inside it, a list or one of its items',
      query: index,
      conditions: 'write',
      responses: { 204: 'Removed', ...actorErrors },
      handler: (exchange) => deleteOne(deps, exchange),
    }),
  ]
}

async function listAll(
  deps: PropertyRouteDeps,
  { request, query: { format, metadata }, actor, caller }: ActorExchange<never, ValuesOf<typeof listing>>,
): Promise<HttpResponse> {
  const access = { actor, caller }
  const wantsMetadata = metadata !== undefined
  if (wantsMetadata && format !== undefined)
    throw new ServiceError('bad_request', 'Cannot give both metadata and a format')
  if (format === 'full') return listFull(deps, request, access)
  const listing = await deps.properties.listing(access)
  if (listing === null)
    return wantsMetadata
      ? jsonText(200, await metadataOf(deps, access, deps.properties.pages(access)))
      : jsonStream(200, listingPieces(deps.properties.pages(access)))
  const { shown, version } = listing
  const json = wantsMetadata ? await metadataOf(deps, access, [shown]) : listingView(shown)
  return tagged(request, jsonText(200, json), version(json))
}

async function metadataOf(
  { listReader }: PropertyRouteDeps,
  access: Access,
  pages: AsyncIterable<readonly StoredProperty[]> | Iterable<readonly StoredProperty[]>,
): Promise<JsonText> {
  const values = new ValueSizes()
  const lists: ListSize[] = []
  for await (const page of pages) {
    values.add(page)
    for (const property of page) if (holdsItems(property.kind)) lists.push(await listReader.size(access, property))
  }
  return metadataView(values, lists)
}

async function listFull(deps: PropertyRouteDeps, request: HttpRequest, access: Access): Promise<HttpResponse> {
  const { content, version } = await readFull(deps, access)
  return tagged(request, jsonContent(200, content), version)
}

/** Converts a form to the equivalent JSON body. `property` names one property with its type; without it each field is one. */
function formBody(form: Params | null): JsonText {
  if (form === null || form.entries.size === 0)
    throw new ServiceError('invalid_json', 'Cannot set properties: the body is neither JSON nor a form')
  const {
    property: name,
    property_type: type,
    value,
    ...texts
  } = readFields(formFields, jsonOf(form), refusedField('set the property'))
  if (name === undefined)
    return object(
      [...form.entries]
        .filter(([field]) => field !== '_method')
        .map(([field, text]) => [field, stringText(text)] as const),
    )
  if (type === 'list') return object([[name, object(Object.entries({ _type: known('"list"'), ...present(texts) }))]])
  if (type !== 'simple' || value === undefined)
    throw new ServiceError('bad_request', 'Cannot set the property: the form needs a value, or property_type "list"')
  return object([[name, value]])
}

function pathOf({ params, rest }: ActorExchange<'name'>): string[] {
  return [params.name, ...rest]
}

async function getOne(deps: PropertyRouteDeps, exchange: ReadingExchange): Promise<HttpResponse> {
  const { request, query, actor, caller } = exchange
  const path = pathOf(exchange)
  const found = await deps.properties.read(
    { actor, caller },
    {
      path,
      index: query.index,
      isShort: query.format === 'short',
      isKnown: knownTags(request),
    },
  )
  if (found === null) throw propertyNotFound(path)
  const version = found.version()
  if ('pieces' in found) return tagged(request, jsonStream(200, found.pieces), version)
  const isBareText = found.isWhole && isString(found.json) && !acceptsJsonByName(request)
  return isBareText
    ? tagged(request, text(200, stringValue(found.json) ?? ''), version === null ? null : `${version}.${textForm}`)
    : tagged(request, jsonText(200, found.json), version)
}

/** The path that a write changes, with the position of an item that the query names. */
function subjectOf(exchange: OneExchange): string[] {
  const path = pathOf(exchange)
  const position = exchange.query.index
  return path.length === 1 && position !== undefined ? [...path, position] : path
}

async function putOne(deps: PropertyRouteDeps, exchange: OneExchange, given: JsonText): Promise<HttpResponse> {
  const { query } = exchange
  const access = await writeAccess(deps.properties, exchange, subjectOf(exchange))
  await deps.properties.put(access, { path: pathOf(exchange), index: query.index }, given)
  return noContent()
}

async function postOne(
  deps: PropertyRouteDeps,
  exchange: ActorExchange<'name'>,
  given: JsonText,
): Promise<HttpResponse> {
  const path = pathOf(exchange)
  const access = await writeAccess(deps.properties, exchange, path)
  const { value: stored, position } = await deps.properties.add(access, path, given)
  const url = `${urlOf(deps, exchange.actor.id)}/properties/${path.map(encodeURIComponent).join('/')}`
  return jsonText(201, stored, { Location: position === null ? url : `${url}/${position}` })
}

async function deleteOne(deps: PropertyRouteDeps, exchange: OneExchange): Promise<HttpResponse> {
  const { query } = exchange
  const access = await writeAccess(deps.properties, exchange, subjectOf(exchange))
  await deps.properties.remove(access, { path: pathOf(exchange), index: query.index })
  return noContent()
}
