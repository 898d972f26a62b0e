/** `/<actor>/resources/<name>`: application-defined resources. */
import { quoted, ServiceError } from '../../../errors.ts'
import { isObject, type Json, type JsonText, toPlain } from '../../../json/json.ts'
import { type HttpResponse, jsonText, noContent } from '../../edge/response.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import { answerOf } from '../../dispatch/handler-response.ts'
import { parsedBody } from '../../dispatch/request-body.ts'
import { type ActorExchange, type Method, type Route, rightOf } from '../../dispatch/route.ts'
import { actorErrors, anyValue, writeErrors } from '../../dispatch/schemas.ts'
import type { Operations } from '../../../operation/operations.ts'

const request = parsedBody({ type: 'object' }, readObject)
const answered = { text: 'The result of the handler', schema: anyValue }
const done = 'The handler returned nothing'

export interface ResourceRouteDeps {
  readonly operations: Operations
}

export function resourceRoutes(deps: ResourceRouteDeps): readonly Route[] {
  return [
    resourceRoute(deps, 'getResource', 'GET', {
      summary: 'Reads the resource',
      responses: { 200: answered, 204: done, ...actorErrors },
    }),
    resourceRoute(deps, 'postResource', 'POST', {
      summary: 'Adds to the resource',
      responses: { 201: answered, 204: done, ...writeErrors },
    }),
    resourceRoute(deps, 'putResource', 'PUT', {
      summary: 'Changes the resource',
      responses: { 200: answered, 204: done, ...writeErrors },
    }),
    resourceRoute(deps, 'deleteResource', 'DELETE', {
      summary: 'Deletes the resource',
      responses: { 200: answered, 204: done, ...actorErrors },
    }),
  ]
}

function resourceRoute(
  deps: ResourceRouteDeps,
  id: string,
  method: Method,
  about: Pick<Route, 'summary' | 'responses'>,
): Route {
  const hasBody = method === 'POST' || method === 'PUT'
  return defineRoute({
    id,
    method,
    path: '/:actor/resources/*',
    access: 'resources',
    ...about,
    ...(hasBody ? { request } : {}),
    // The application defines the query. Its clients may send parameters that no handler reads.
    unknownQuery: 'ignored',
    handler: (exchange) => serve(deps, exchange),
  })
}

async function serve(
  deps: ResourceRouteDeps,
  { method, rest, actor, caller, body }: ActorExchange & Bodied<{ readonly [member: string]: Json } | undefined>,
): Promise<HttpResponse> {
  const name = rest.join('/')
  const access = { actor, caller }
  const data = { ...(await body()), method }
  const result = await deps.operations.resource(access, rightOf(method), name, data)
  if (result === null)
    throw new ServiceError('not_found', `Cannot find the resource ${quoted(name)}: it does not exist`)
  if (result === undefined) return noContent()
  return typeof result === 'string' ? jsonText(method === 'POST' ? 201 : 200, result) : answerOf(result)
}

function readObject(body: JsonText): { readonly [member: string]: Json } {
  if (!isObject(body)) throw new ServiceError('bad_request', 'Cannot use the resource: the body must be a JSON object')
  return toPlain(body) as { readonly [member: string]: Json }
}
