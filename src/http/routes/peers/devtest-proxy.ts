/** `/<actor>/devtest/proxy`: what a test reads and writes at a companion of the actor, in development only. */
import { isObject, type JsonText, stringText } from '../../../json/json.ts'
import { type Companions, myself } from '../../../trust/companions.ts'
import { type HttpResponse, jsonText } from '../../edge/response.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import { valueBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, errorResponses } from '../../dispatch/schemas.ts'

export interface DevtestProxyRouteDeps {
  readonly companions: Companions
}

export function devtestProxyRoutes(deps: DevtestProxyRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'devtestProxyCreate',
      method: 'POST',
      path: '/:actor/devtest/proxy/create',
      access: 'devtest',
      summary: 'Makes a companion of the actor, unless it has one, and sets properties there',
      request: valueBody(),
      responses: { 200: { text: 'Its meta data', schema: { type: 'object' } }, ...errorResponses(408), ...actorErrors },
      handler: async (exchange) => create(deps, exchange, await exchange.body()),
    }),
    relayRoute(deps, 'devtestProxyGet', 'GET'),
    relayRoute(deps, 'devtestProxyPut', 'PUT'),
    relayRoute(deps, 'devtestProxyDelete', 'DELETE'),
  ]
}

function relayRoute(deps: DevtestProxyRouteDeps, id: string, method: 'GET' | 'PUT' | 'DELETE'): Route {
  return defineRoute({
    id,
    method,
    path: '/:actor/devtest/proxy/properties/*',
    access: 'devtest',
    summary: 'The same request to the properties of the companion',
    ...(method === 'PUT' ? { request: valueBody() } : {}),
    responses: {
      200: { text: 'The response of the companion', schema: anyValue },
      204: 'Done',
      ...errorResponses(408),
      ...actorErrors,
    },
    handler: (exchange) => relay(deps, exchange, method),
  })
}

async function create(deps: DevtestProxyRouteDeps, { actor }: ActorExchange, given: JsonText): Promise<HttpResponse> {
  const companion = await deps.companions.obtain(actor, myself)
  if (isObject(given)) {
    const stored = await deps.companions.relay(actor, companion, 'POST', '/properties', given)
    if (stored.status > 299) return passedOn(stored)
  }
  const meta = await deps.companions.relay(actor, companion, 'GET', '/meta')
  return { ...passedOn(meta), headers: { ...passedOn(meta).headers, Location: companion.baseuri } }
}

async function relay(
  deps: DevtestProxyRouteDeps,
  { actor, rest, body }: ActorExchange & Bodied<JsonText | undefined>,
  method: 'GET' | 'PUT' | 'DELETE',
): Promise<HttpResponse> {
  const companion = await deps.companions.obtain(actor, myself)
  const path = ['/properties', ...rest.map(encodeURIComponent)].join('/')
  return passedOn(await deps.companions.relay(actor, companion, method, path, await body()))
}

function passedOn({
  status,
  headers,
  body,
}: {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}): HttpResponse {
  if (body === '') return { status, headers: {}, body: null }
  const type = headers['content-type'] ?? ''
  return type.startsWith('text/plain')
    ? { status, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body }
    : { ...jsonText(status, stringText('')), body }
}
