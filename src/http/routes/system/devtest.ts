/** `/<actor>/devtest`: internal attributes for a test client, in development only, for the creator only. */
import type { Attribute, Attributes } from '../../../actor/attributes.ts'
import { ServiceError } from '../../../errors.ts'
import { absent } from '../../../json/absent.ts'
import { isArray, isNull, isObject, type JsonText, known, members, object } from '../../../json/json.ts'
import { checkName } from '../../../actor/property-name.ts'
import { type HttpResponse, jsonText, noContent } from '../../edge/response.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import { valueBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Method, Route } from '../../dispatch/route.ts'
import { anyValue, actorErrors } from '../../dispatch/schemas.ts'

export interface DevtestRouteDeps {
  readonly attributes: Attributes
}

export function devtestRoutes(deps: DevtestRouteDeps): readonly Route[] {
  return [
    attributeRoute('devtestGet', 'GET', (exchange) => get(deps, exchange)),
    attributeRoute('devtestPut', 'PUT', (exchange) => put(deps, exchange)),
    attributeRoute('devtestPost', 'POST', (exchange) => post(deps, exchange)),
    attributeRoute('devtestDelete', 'DELETE', (exchange) => remove(deps, exchange)),
  ]
}

type DevtestExchange = ActorExchange & Bodied<JsonText | undefined>

function attributeRoute(
  id: string,
  method: Method,
  handler: (exchange: DevtestExchange) => Promise<HttpResponse>,
): Route {
  return defineRoute({
    id,
    method,
    path: '/:actor/devtest/*',
    access: 'devtest',
    summary: 'Internal attributes, for tests of an application in development',
    responses: { 200: { text: 'The attributes', schema: anyValue }, 204: 'Done', ...actorErrors },
    ...(method === 'POST' || method === 'PUT' ? { request: valueBody() } : {}),
    handler: (exchange) => handler(exchange),
  })
}

async function get(deps: DevtestRouteDeps, { actor, rest }: ActorExchange): Promise<HttpResponse> {
  const [area, bucket, name, ...more] = rest
  if (isPing(rest)) return noContent()
  if ((area !== 'attribute' && area !== 'attributes') || more.length > 0) throw nothing()
  if (bucket === undefined) {
    const buckets = await deps.attributes.all(actor.id)
    if (buckets.size === 0) throw nothing()
    return jsonText(200, object([...buckets].map(([key, attributes]) => [key, viewAll(attributes)] as const)))
  }
  if (name === undefined) {
    const attributes = await deps.attributes.bucket(actor.id, bucket)
    if (attributes.size === 0) throw nothing()
    return jsonText(200, viewAll(attributes))
  }
  const attribute = await deps.attributes.find(actor.id, bucket, name)
  if (attribute === null) throw nothing()
  return jsonText(200, view(attribute))
}

async function put(deps: DevtestRouteDeps, exchange: DevtestExchange): Promise<HttpResponse> {
  const { rest } = exchange
  if (isPing(rest)) return noContent()
  const { bucket, name } = addressOf(rest)
  if (bucket === undefined || name === undefined) throw nothing()
  await store(deps, exchange, bucket, new Map([[name, (await exchange.body()) ?? absent]]))
  return noContent()
}

/** Stores the body and returns it. An empty value changes nothing. */
async function post(deps: DevtestRouteDeps, exchange: DevtestExchange): Promise<HttpResponse> {
  const { rest } = exchange
  const { bucket } = addressOf(rest)
  if (bucket === undefined) throw nothing()
  const given = (await exchange.body()) ?? absent
  const fields = isObject(given) ? members(given) : null
  if (fields === null || fields.size === 0) return { status: 200, headers: {}, body: null }
  await store(deps, exchange, bucket, fields)
  return jsonText(200, given)
}

async function remove(deps: DevtestRouteDeps, { actor, rest }: ActorExchange): Promise<HttpResponse> {
  if (isPing(rest)) return noContent()
  const { bucket, name } = addressOf(rest)
  if (bucket === undefined) await deps.attributes.deleteAll(actor.id)
  else if (name === undefined) await deps.attributes.deleteBucket(actor.id, bucket)
  else await deps.attributes.delete(actor.id, bucket, name)
  return noContent()
}

async function store(
  deps: DevtestRouteDeps,
  { actor }: ActorExchange,
  bucket: string,
  values: ReadonlyMap<string, JsonText>,
): Promise<void> {
  for (const name of [bucket, ...values.keys()]) checkName(name)
  const kept = new Map([...values].filter(([, value]) => !isEmpty(value)))
  if (kept.size > 0) await deps.attributes.set(actor.id, bucket, kept)
}

/** Returns true for an empty value, which is not stored. */
function isEmpty(value: JsonText): boolean {
  return (
    isNull(value) ||
    value === '""' ||
    value === '0' ||
    value === 'false' ||
    (isArray(value) && value === '[]') ||
    value === '{}'
  )
}

function isPing(rest: readonly string[]): boolean {
  return rest.length === 1 && rest[0] === 'ping'
}

function addressOf(rest: readonly string[]): { bucket: string | undefined; name: string | undefined } {
  const [area, bucket, name, ...more] = rest
  if (area !== 'attribute' || more.length > 0) throw nothing()
  return { bucket, name }
}

function viewAll(attributes: ReadonlyMap<string, Attribute>): JsonText {
  return object([...attributes].map(([name, attribute]) => [name, view(attribute)] as const))
}

function view({ data, timestamp }: Attribute): JsonText {
  const time = new Date(timestamp).toISOString().slice(0, 19).replace('T', ' ')
  return known(`{"data":${data},"timestamp":${JSON.stringify(time)}}`)
}

function nothing(): ServiceError {
  return new ServiceError('not_found', 'There is nothing at this devtest address')
}
