/** `/<actor>/devtest/proxy`: what a test reads and writes at a companion of the actor, in development only. */
import { isObject, stringText } from '../../../json/json.ts'
import { myself } from '../../../trust/companions.ts'
import { type Answer, jsonText } from '../../edge/response.ts'
import { readValue } from '../../edge/body.ts'
import type { ActorExchange, Method, Route } from '../../dispatch/route.ts'
import { actorErrors, anyValue, errorResponses } from '../../dispatch/schemas.ts'

export const devtestProxyRoutes: readonly Route[] = [
  {
    id: 'devtestProxyCreate',
    method: 'POST',
    path: '/:actor/devtest/proxy/create',
    access: 'devtest',
    summary: 'Makes a companion of the actor, unless it has one, and sets properties there',
    responses: { 200: { text: 'Its meta data', schema: { type: 'object' } }, ...errorResponses(408), ...actorErrors },
    handler: create,
  },
  route('devtestProxyGet', 'GET'),
  route('devtestProxyPut', 'PUT'),
  route('devtestProxyDelete', 'DELETE'),
]

function route(id: string, method: Extract<Method, 'GET' | 'PUT' | 'DELETE'>): Route {
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
    handler: (exchange) => relay(exchange, method),
  }
}

async function create({ parts, actor, request }: ActorExchange): Promise<Answer> {
  const body = await readValue(request, parts.config)
  const companion = await parts.companions.obtain(actor, myself)
  if (body.kind === 'json' && isObject(body.json)) {
    const stored = await parts.companions.relay(actor, companion, 'POST', '/properties', body.json)
    if (stored.status > 299) return passedOn(stored)
  }
  const meta = await parts.companions.relay(actor, companion, 'GET', '/meta')
  return { ...passedOn(meta), headers: { ...passedOn(meta).headers, Location: companion.baseuri } }
}

async function relay(
  { parts, actor, request, rest }: ActorExchange,
  method: 'GET' | 'PUT' | 'DELETE',
): Promise<Answer> {
  const companion = await parts.companions.obtain(actor, myself)
  const path = ['/properties', ...rest.map(encodeURIComponent)].join('/')
  if (method !== 'PUT') return passedOn(await parts.companions.relay(actor, companion, method, path))
  const body = await readValue(request, parts.config)
  const value = body.kind === 'json' ? body.json : stringText(body.kind === 'text' ? body.text : '')
  return passedOn(await parts.companions.relay(actor, companion, 'PUT', path, value))
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
