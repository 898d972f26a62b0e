/** Addresses for operators and tools: health, metrics and the OpenAPI document. */
import type { Config } from '../../../config/options.ts'
import { ServiceError } from '../../../errors.ts'
import { optional, stringField } from '../../../json/fields.ts'
import { known } from '../../../json/json.ts'
import type { Metrics } from '../../../observe/metrics.ts'
import { sameSecret } from '../../../secret/hash.ts'
import { commit, release } from '../../../release.ts'
import { identityProof } from '../../../secret/identity-proof.ts'
import type { KeyRing } from '../../../secret/key-ring.ts'
import { type HttpResponse, json, jsonText } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { BaseUrl } from '../../dispatch/urls.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import type { Health } from './health.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import { isForwardedUnknown } from '../../edge/client-address.ts'

const state = { type: 'object', properties: { status: { type: 'string' } } }
const liveState = {
  type: 'object',
  properties: {
    ...state.properties,
    version: { type: 'string', description: 'The release' },
    commit: { type: 'string', description: 'The commit of its code, or `unknown`' },
    proof: { type: 'string', description: 'The proof for a challenge' },
    forwarded: {
      const: 'ignored',
      description: 'Present when a proxy named the sender, but TROUPE_TRUSTED_PROXIES is 0',
    },
  },
}
const liveQuery = {
  challenge: optional(
    stringField('Random text. The response proves that the service has its keys', { minLength: 16, maxLength: 128 }),
  ),
}

export interface SystemRouteDeps extends BaseUrl {
  readonly health: Health
  readonly metrics: Metrics
  readonly keyRing: KeyRing
  readonly config: Pick<Config, 'metricsToken' | 'mode' | 'trustedProxies'>
}

/** @param openApi Returns the OpenAPI document, generated at the first request. */
export function systemRoutes(deps: SystemRouteDeps, openApi: () => string): readonly Route[] {
  return [liveRoute(deps), ...otherRoutes(deps, openApi)]
}

function liveRoute(deps: SystemRouteDeps): Route {
  return defineRoute({
    id: 'live',
    method: 'GET',
    path: '/health/live',
    access: 'service',
    // A probe may add a parameter, so that no cache answers it.
    unknownQuery: 'ignored',
    summary: 'Reports that the process responds, and its release',
    query: liveQuery,
    responses: { 200: { text: 'The process responds', schema: liveState }, ...errorResponses(400) },
    handler: ({ request, query: { challenge } }) =>
      json(200, {
        status: 'live',
        version: release,
        commit: commit(),
        ...proof(deps, challenge),
        ...(isForwardedUnknown(request, deps.config.trustedProxies) ? { forwarded: 'ignored' } : {}),
      }),
  })
}

function otherRoutes(deps: SystemRouteDeps, openApi: () => string): readonly Route[] {
  return [
    defineRoute({
      id: 'ready',
      method: 'GET',
      path: '/health/ready',
      access: 'service',
      // A probe may add a parameter, so that no cache answers it.
      unknownQuery: 'ignored',
      summary:
        'Whether requests should be sent here: the store answers, the keys open its secrets and no stop signal arrived',
      responses: { 200: { text: 'The service is ready', schema: state }, ...errorResponses(503) },
      handler: () => ready(deps),
    }),
    defineRoute({
      id: 'metrics',
      method: 'GET',
      path: '/metrics',
      access: 'service',
      summary: 'Counters in the Prometheus text format',
      // A scraper may be configured with `params`.
      unknownQuery: 'ignored',
      responses: { 200: { text: 'The counters', type: 'text/plain' }, ...errorResponses(401, 404) },
      handler: (exchange) => metrics(deps, exchange),
    }),
    defineRoute({
      id: 'openapi',
      method: 'GET',
      path: '/openapi.json',
      access: 'service',
      summary: 'The description of the API',
      responses: { 200: { text: 'OpenAPI 3.1', schema: { type: 'object' } } },
      handler: () => jsonText(200, known(openApi())),
    }),
  ]
}

function proof({ keyRing, baseUrl }: SystemRouteDeps, challenge: string | undefined): object {
  return challenge === undefined ? {} : { proof: identityProof(keyRing, { challenge, baseUrl }) }
}

async function ready(deps: SystemRouteDeps): Promise<HttpResponse> {
  if (deps.health.isStopping()) throw new ServiceError('shutting_down')
  await deps.health.checkStore()
  return json(200, { status: 'ready' })
}

async function metrics(deps: SystemRouteDeps, { request }: Exchange): Promise<HttpResponse> {
  const { metricsToken: token, mode } = deps.config
  // Without a token, every client that reaches the port could read how the service is used.
  if (token === null && mode === 'production')
    throw new ServiceError('not_found', 'Cannot show the metrics: no token for them is configured')
  if (token !== null && !sameSecret(request.header('authorization') ?? '', `Bearer ${token}`)) {
    throw new ServiceError('unauthorized', 'Cannot show the metrics: their bearer token is needed', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
  return { status: 200, headers: { 'Content-Type': deps.metrics.contentType }, body: await deps.metrics.render() }
}
