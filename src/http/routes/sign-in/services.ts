/** `/<actor>/services`: the connections of the actor to third-party services. */
import type { ConnectionActs } from '../../../connection/acts.ts'
import { ServiceError } from '../../../errors.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import type { ClientConnection, Connections } from '../../../connection/connections.ts'
import { type BaseUrl, parseRedirectTarget } from '../../dispatch/urls.ts'
import { type HttpResponse, json, redirect } from '../../edge/response.ts'
import { browserCookie, browserOf } from '../../edge/cookies/cookies.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { ActorExchange, Exchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses } from '../../dispatch/schemas.ts'

const path = '/:actor/services' as const
const doneSchema = {
  type: 'object',
  properties: { success: { const: true }, message: { type: 'string' }, service: { type: 'string' } },
}
const connectionSchema = {
  type: 'object',
  properties: {
    service: { type: 'string' },
    connected: { type: 'boolean' },
    connected_at: { type: ['string', 'null'], format: 'date-time' },
    expires_at: { type: ['string', 'null'], format: 'date-time' },
    scope: { type: ['string', 'null'] },
  },
}
const redirectQuery = { redirect: optional(stringField('Path on this service to continue to afterwards')) }
const callbackQuery = {
  code: optional(stringField('Authorization code')),
  state: optional(stringField('As it was sent')),
  error: optional(stringField('Why it was not allowed')),
}
type CallbackQuery = ValuesOf<typeof callbackQuery>

export interface ConnectionRouteDeps extends BaseUrl {
  /** The path that every address of the service begins with; empty without a prefix. */
  readonly basePath: string
  readonly connections: Connections
  readonly connectionActs: ConnectionActs
}

export function serviceRoutes(deps: ConnectionRouteDeps): readonly Route[] {
  return [...connectionRoutes(deps), ...sharedCallbackRoutes(deps)]
}

function connectionRoutes(deps: ConnectionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listServices',
      method: 'GET',
      path,
      access: 'services',
      summary: 'Lists the services that actors can connect to, and the connections of this actor',
      responses: { 200: { text: 'The services', schema: { type: 'array', items: connectionSchema } }, ...actorErrors },
      handler: async ({ actor }) => json(200, (await deps.connections.list(actor.id)).map(shown)),
    }),
    defineRoute({
      id: 'connectService',
      method: 'GET',
      path: `${path}/:service/connect`,
      access: 'services',
      // It starts an authorization in the name of the owner.
      acts: true,
      freshSignIn: 'all',
      takesNoHead: true,
      summary: 'Redirects the browser to the service to authorize the connection',
      query: redirectQuery,
      responses: { 302: 'To the service', ...errorResponses(400), ...actorErrors },
      handler: (exchange) => connect(deps, exchange),
    }),
    defineRoute({
      id: 'serviceCallback',
      method: 'GET',
      path: `${path}/:service/callback`,
      access: 'services',
      takesNoHead: true,
      summary: 'Callback of the service',
      query: callbackQuery,
      // RFC 6749 section 4.1.2: unrecognized parameters of a response are ignored.
      unknownQuery: 'ignored',
      responses: {
        200: { text: 'Connected', schema: doneSchema },
        302: 'Connected, and on to where `redirect` said',
        ...errorResponses(400, 502),
        ...actorErrors,
      },
      handler: (exchange) => finish(deps, exchange),
    }),
    defineRoute({
      id: 'disconnectService',
      method: 'DELETE',
      path: `${path}/:service`,
      access: 'services',
      summary: 'Ends the connection and revokes the token',
      responses: { 200: { text: 'Disconnected', schema: doneSchema }, ...errorResponses(502), ...actorErrors },
      handler: (exchange) => disconnect(deps, exchange),
    }),
  ]
}

function sharedCallbackRoutes(deps: ConnectionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'sharedServiceCallback',
      method: 'GET',
      path: '/services/:service/callback',
      access: 'visitor',
      page: true,
      limit: ['sign_in/source', 'sign_in/total'],
      summary: 'The shared callback of all actors, for services that need each callback URL registered',
      query: callbackQuery,
      responses: { 302: 'To the actor’s own', ...errorResponses(400, 403, 404) },
      handler: (exchange) => passOn(deps, exchange),
    }),
  ]
}

async function connect(
  deps: ConnectionRouteDeps,
  { request, actor, params: { service }, query }: ActorExchange<'service', ValuesOf<typeof redirectQuery>>,
): Promise<HttpResponse> {
  const wanted = query.redirect
  const target = wanted === undefined ? null : parseRedirectTarget(wanted, deps)
  if (wanted !== undefined && target === null)
    throw new ServiceError('bad_request', 'Cannot connect: redirect must be a path of this service')
  const mark = browserCookie(request)
  const by = { browser: mark.value, redirect: target }
  const location = await deps.connections.begin(actor.id, service, by)
  return { ...redirect(302, location), cookies: [mark.cookie] }
}

async function finish(
  deps: ConnectionRouteDeps,
  { request, actor, params: { service }, query }: ActorExchange<'service', CallbackQuery>,
): Promise<HttpResponse> {
  const target = await deps.connections.finish(actor.id, service, query, browserOf(request))
  return target === null ? done(service, `Connected with ${service}`) : redirect(302, target)
}

async function disconnect(deps: ConnectionRouteDeps, exchange: ActorExchange<'service'>): Promise<HttpResponse> {
  const { service } = exchange.params
  await deps.connectionActs.disconnect(exchange, service)
  return done(service, `Disconnected from ${service}`)
}

async function passOn(
  deps: ConnectionRouteDeps,
  { request, params: { service }, query: { state } }: Exchange<'service', CallbackQuery>,
): Promise<HttpResponse> {
  if (state === undefined) throw new ServiceError('bad_request', `Cannot connect ${service}: the answer holds no state`)
  const actorId = await deps.connections.actorOf(service, state, browserOf(request))
  if (actorId === null)
    throw new ServiceError('forbidden', `Cannot connect ${service}: this browser has no pending request for it`, {
      needsBrowser: true,
    })
  return redirect(302, `${deps.baseUrl}/${actorId}/services/${service}/callback?${request.query}`)
}

function done(service: string, message: string): HttpResponse {
  return json(200, { success: true, message, service })
}

function shown({ service, connected }: ClientConnection): object {
  const expiresAt = connected?.expiresAt ?? null
  return {
    service,
    connected: connected !== null,
    connected_at: connected === null ? null : new Date(connected.at).toISOString(),
    expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    scope: connected?.scope ?? null,
  }
}
