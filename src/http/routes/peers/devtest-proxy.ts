/** `/<actor>/devtest/proxy`: what a test reads and writes at a companion of the actor, in development only. */
import { isObject, stringText } from '../../../json/json.ts'
import { type Companions, myself } from '../../../trust/companions.ts'
import { type Answer, jsonText } from '../../edge/response.ts'
import { type BodyLimits, readValue } from '../../edge/body.ts'
import type { ActorExchange, Method, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, errorResponses } from '../../dispatch/schemas.ts'

export interface DevtestProxyRouteDeps {
  readonly companions: Companions
  readonly config: BodyLimits
}

export function devtestProxyRoutes(deps: DevtestProxyRouteDeps): readonly Route[] {
  return [
    {
      id: 'devtestProxyCreate',
      method: 'POST',
      path: '/:actor/devtest/proxy/create',
      access: 'devtest',
      summary: 'Makes a companion of the actor, unless it has one, and sets properties there',
      responses: { 200: { text: 'Its meta data', schema: { type: 'object' } }, ...errorResponses(408), ...actorErrors },
      handler: (exchange) => create(deps, exchange),
    },
    route(deps, 'devtestProxyGet', 'GET'),
    route(deps, 'devtestProxyPut', 'PUT'),
    route(deps, 'devtestProxyDelete', 'DELETE'),
  ]
}

function route(deps: DevtestProxyRouteDeps, id: string, method: Extract<Method, 'GET' | 'PUT' | 'DELETE'>): Route {
  return {
    id,
    method,
    path: '/:actor/devtest/proxy/properties/*',
    access: 'devtest',
    summary: 'The same request to the properties of the companion',
    responses: {
      200: { text: 'What it answered', schema: anyValue },
      204: 'Done',
      ...errorResponses(408),
      ...actorErrors,
    },
    handler: (exchange) => relay(deps, exchange, method),
  }
}

async function create(deps: DevtestProxyRouteDeps, { actor, request }: ActorExchange): Promise<Answer> {
  const body = await readValue(request, deps.config)
  const companion = await deps.companions.obtain(actor, myself)
  if (body.kind === 'json' && isObject(body.json)) {
    const stored = await deps.companions.relay(actor, companion, 'POST', '/properties', body.json)
    if (stored.status > 299) return passedOn(stored)
  }
  const meta = await deps.companions.relay(actor, companion, 'GET', '/meta')
  return { ...passedOn(meta), headers: { ...passedOn(meta).headers, Location: companion.baseuri } }
}

async function relay(
  deps: DevtestProxyRouteDeps,
  { actor, request, rest }: ActorExchange,
  method: 'GET' | 'PUT' | 'DELETE',
): Promise<Answer> {
  const companion = await deps.companions.obtain(actor, myself)
  const path = ['/properties', ...rest.map(encodeURIComponent)].join('/')
  if (method !== 'PUT') return passedOn(await deps.companions.relay(actor, companion, method, path))
  const body = await readValue(request, deps.config)
  const value = body.kind === 'json' ? body.json : stringText(body.kind === 'text' ? body.text : '')
  return passedOn(await deps.companions.relay(actor, companion, 'PUT', path, value))
}

function passedOn({
  status,
  headers,
  body,
}: {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}): Answer {
  if (body === '') return { status, headers: {}, body: null }
  const type = headers['content-type'] ?? ''
  return type.startsWith('text/plain')
    ? { status, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body }
    : { ...jsonText(status, stringText('')), body }
}
