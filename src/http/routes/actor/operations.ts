/** `/<actor>/methods` and `/<actor>/actions`: the list of operations, and the calls. */
import type { OperationKind } from '../../../app/registry.ts'
import { quoted, ServiceError } from '../../../errors.ts'
import { isObject, type Json, type JsonText, toPlain } from '../../../json/json.ts'
import { requireData } from '../../../operation/operations.ts'
import { type HttpResponse, json, jsonText, noContent } from '../../edge/response.ts'
import { answerJsonRpc, isJsonRpc, type JsonRpcDeps } from './json-rpc.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { answerOf } from '../../dispatch/handler-response.ts'
import { jsonOrEmpty } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, writeErrors } from '../../dispatch/schemas.ts'

const descriptor = {
  type: 'object',
  required: ['name', 'description', 'input_schema', 'output_schema', 'annotations'],
  properties: {
    name: { type: 'string' },
    description: { type: 'string' },
    input_schema: { type: ['object', 'null'] },
    output_schema: { type: ['object', 'null'] },
    annotations: { type: 'object' },
    confirm: {
      const: 'owner',
      description: 'Present when each call needs the owner’s approval, except calls of the owner',
    },
  },
}

/** The application defines the body and the query. Its clients may send parameters that no handler reads. */
const applicationCall = { request: jsonOrEmpty, unknownQuery: 'ignored' } as const

export function operationRoutes(deps: JsonRpcDeps): readonly Route[] {
  return [...routesFor(deps, 'methods', 'Method'), ...routesFor(deps, 'actions', 'Action')]
}

function routesFor(deps: JsonRpcDeps, kind: OperationKind, noun: string): readonly Route[] {
  const { request, unknownQuery } = applicationCall
  const done = 'The handler returned nothing'
  const result = { 200: { text: 'The result of the handler', schema: anyValue }, 204: done, ...writeErrors }
  const callBy = (method: 'POST' | 'PUT', id: string): Route =>
    defineRoute({
      id,
      method,
      path: `/:actor/${kind}/*`,
      access: kind,
      summary: `Calls the ${noun.toLowerCase()}`,
      request,
      unknownQuery,
      responses: result,
      handler: async (exchange) => post(deps, kind, exchange, await exchange.body()),
    })
  return [
    defineRoute({
      id: `list${noun}s`,
      method: 'GET',
      path: `/:actor/${kind}`,
      access: kind,
      summary: `The ${kind} that the caller may call`,
      responses: {
        200: {
          text: 'Descriptors',
          schema: { type: 'object', properties: { [kind]: { type: 'array', items: descriptor } } },
        },
        ...actorErrors,
      },
      handler: async ({ actor, caller }) => json(200, { [kind]: await deps.operations.list({ actor, caller }, kind) }),
    }),
    defineRoute({
      id: `get${noun}`,
      method: 'GET',
      path: `/:actor/${kind}/*`,
      access: kind,
      unknownQuery,
      summary: `Calls the ${noun.toLowerCase()} with {"method": "GET"}`,
      responses: { 200: { text: 'The result of the handler', schema: anyValue }, 204: done, ...actorErrors },
      handler: (exchange) => get(deps, kind, exchange),
    }),
    callBy('POST', `call${noun}`),
    callBy('PUT', `put${noun}`),
    defineRoute({
      id: `delete${noun}`,
      method: 'DELETE',
      path: `/:actor/${kind}/*`,
      access: kind,
      unknownQuery,
      summary: `Calls the ${noun.toLowerCase()} with {"method": "DELETE"}`,
      responses: { 204: 'Done', ...actorErrors },
      handler: (exchange) => remove(deps, kind, exchange),
    }),
  ]
}

const nameOf = (exchange: ActorExchange): string => exchange.rest.join('/')

/** Calls by GET. A planted link is a GET with the session cookie, so a cookie may call only operations declared read-only. */
async function get(deps: JsonRpcDeps, kind: OperationKind, exchange: ActorExchange): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const name = nameOf(exchange)
  if ('via' in caller && caller.via === 'cookie' && !deps.operations.isReadOnly(exchange, kind, name)) {
    throw new ServiceError('forbidden', `Cannot call ${quoted(name)} by GET with a session cookie: use POST`)
  }
  const result = await deps.operations.call({ actor, caller }, kind, name, { method: 'GET' })
  if (result === null) throw new ServiceError('not_found', `Nothing answers ${quoted(name)}`)
  return resultAnswer(result)
}

function resultAnswer(result: JsonText | Response | undefined): HttpResponse {
  if (result === undefined) return noContent()
  return typeof result === 'string' ? jsonText(200, result) : answerOf(result)
}

async function post(
  deps: JsonRpcDeps,
  kind: OperationKind,
  exchange: ActorExchange,
  body: JsonText,
): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const name = nameOf(exchange)
  const data = requireData(toPlain(body))
  if (kind === 'methods' && isJsonRpc(body)) return answerJsonRpc(deps, exchange, name, body)
  if (name === '')
    throw new ServiceError(
      'bad_request',
      `Cannot call: the address names no ${kind === 'methods' ? 'method' : 'action'}`,
    )
  const result = await deps.operations.call({ actor, caller }, kind, name, data)
  if (result === null) throw await deps.operations.unhandled({ actor, caller }, kind, name)
  return resultAnswer(result)
}

/**
 * For a method, every result except null means that the deletion happened. For an action, a falsy result or an empty
 * object is a refusal.
 */
async function remove(deps: JsonRpcDeps, kind: OperationKind, exchange: ActorExchange): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const name = nameOf(exchange)
  const result = await deps.operations.call({ actor, caller }, kind, name, { method: 'DELETE' })
  if (typeof result === 'object' && result !== null) return answerOf(result)
  if (result === null || (kind === 'actions' && result !== undefined && !isTruthy(result))) {
    throw new ServiceError('forbidden', `Cannot delete ${quoted(name)}: nothing by this name allowed it`)
  }
  return noContent()
}

function isTruthy(result: JsonText): boolean {
  const value: Json = toPlain(result)
  return isObject(result) ? Object.keys(value ?? {}).length > 0 : Boolean(value)
}
