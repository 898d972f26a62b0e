/** `/<actor>/resources/<name>`: what the application serves from elsewhere. */
import { ServiceError } from '../../../errors.ts'
import { isObject, type Json, toPlain } from '../../../json/json.ts'
import { type Answer, jsonText, noContent } from '../../edge/response.ts'
import { type BodyLimits, readJson } from '../../edge/body.ts'
import { type ActorExchange, type Method, type Route, rightOf } from '../../dispatch/route.ts'
import { actorErrors, anyValue, writeErrors } from '../../dispatch/schemas.ts'
import type { Operations } from '../../../operation/operations.ts'

const request = { 'application/json': { type: 'object' } }
const answered = { text: 'What the handler answered', schema: anyValue }
const done = 'The handler returned nothing'

export interface ResourceRouteDeps {
  readonly operations: Operations
  readonly config: BodyLimits
}

export function resourceRoutes(deps: ResourceRouteDeps): readonly Route[] {
  return [
    route(deps, 'getResource', 'GET', {
      summary: 'Reads the resource',
      responses: { 200: answered, 204: done, ...actorErrors },
    }),
    route(deps, 'postResource', 'POST', {
      summary: 'Adds to the resource',
      request,
      responses: { 201: answered, 204: done, ...writeErrors },
    }),
    route(deps, 'putResource', 'PUT', {
      summary: 'Changes the resource',
      request,
      responses: { 200: answered, 204: done, ...writeErrors },
    }),
    route(deps, 'deleteResource', 'DELETE', {
      summary: 'Deletes the resource',
      responses: { 200: answered, 204: done, ...actorErrors },
    }),
  ]
}

function route(
  deps: ResourceRouteDeps,
  id: string,
  method: Method,
  about: Pick<Route, 'summary' | 'request' | 'responses'>,
): Route {
  return {
    id,
    method,
    path: '/:actor/resources/*',
    access: 'resources',
    ...about,
    handler: (exchange) => serve(deps, exchange),
  }
}

async function serve(
  deps: ResourceRouteDeps,
  { method, request: incoming, rest, actor, caller }: ActorExchange,
): Promise<Answer> {
  const name = rest.join('/')
  const access = { actor, caller }
  const hasBody = method === 'POST' || method === 'PUT'
  const data = { ...(hasBody ? readObject(await readJson(incoming, deps.config)) : {}), method }
  const result = await deps.operations.resource(access, rightOf(method), name, data)
  if (result === null) throw new ServiceError('not_found', `There is no resource ${JSON.stringify(name.slice(0, 120))}`)
  if (result === undefined) return noContent()
  return jsonText(method === 'POST' ? 201 : 200, result)
}

function readObject(body: Awaited<ReturnType<typeof readJson>>): { readonly [member: string]: Json } {
  if (!isObject(body)) throw new ServiceError('bad_request', 'Cannot use the resource: the body must be a JSON object')
  return toPlain(body) as { readonly [member: string]: Json }
}
