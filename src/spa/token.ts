/** `/oauth/spa/token`: tokens for single-page and mobile applications. */
import type { Config } from '../config/options.ts'
import { ServiceError } from '../errors.ts'
import type { BaseUrl } from '../http/dispatch/urls.ts'
import type { BodyLimits } from '../http/edge/body.ts'
import type { Answer } from '../http/edge/response.ts'
import { mayChangeCookies } from '../http/dispatch/anti-forgery.ts'
import type { SpaGrant } from './grants/grant.ts'
import { spaGrants, type SpaGrantDeps } from './grants/grants.ts'
import type { Exchange, Route, VisitorExchange } from '../http/dispatch/route.ts'
import { spaErrors, tokenSchema } from '../http/dispatch/schemas.ts'
import { readSpaFields } from './spa-body.ts'
import { deliveryOf, tokenAnswer } from './token-response.ts'
import type { Purge } from '../token/purge.ts'

export interface SpaTokenDeps extends SpaGrantDeps, BaseUrl {
  readonly purge: Purge
  readonly config: BodyLimits & Pick<Config, 'devtest' | 'spaCorsOrigins'>
}

export function spaTokenRoutes(deps: SpaTokenDeps): readonly Route[] {
  const grants = spaGrants(deps)
  return [
    {
      id: 'spaToken',
      method: 'POST',
      path: '/oauth/spa/token',
      access: 'visitor',
      cors: 'spa',
      errors: 'spa',
      limit: ['token/source', 'token/total'],
      summary: 'Tokens for a single-page or mobile application, by the grant that `grant_type` names',
      request: {
        'application/json': {
          type: 'object',
          required: ['grant_type'],
          properties: {
            grant_type: { type: 'string', enum: [...grants.keys()] },
            token_delivery: { type: 'string', enum: ['json', 'cookie', 'hybrid'], default: 'json' },
          },
        },
      },
      responses: { 200: { text: 'The tokens', schema: tokenSchema }, ...spaErrors(400, 401, 403, 404, 415, 429, 503) },
      handler: (exchange) => issue(deps, grants, exchange),
    },
  ]
}

async function issue(
  deps: SpaTokenDeps,
  grants: ReadonlyMap<string, SpaGrant>,
  exchange: VisitorExchange,
): Promise<Answer> {
  const { request } = exchange
  const fields = await readSpaFields(request, deps.config)
  const delivery = deliveryOf(fields)
  if (delivery !== 'json') refuseCookiesForOthers(deps, exchange)
  const grant = grants.get(fields.get('grant_type') ?? '')
  if (grant === undefined) {
    throw new ServiceError('bad_request', `Cannot issue tokens: grant_type is one of ${[...grants.keys()].join(', ')}`)
  }
  try {
    const { tokens, members } = await grant({ ...exchange, fields })
    return tokenAnswer(tokens, delivery, members)
  } finally {
    deps.purge.occasionally()
  }
}

/** Another site could otherwise sign its visitors in as somebody else: the cookies would be theirs from then on. */
function refuseCookiesForOthers(deps: SpaTokenDeps, { request }: Exchange): void {
  const isTrustedOrigin = (origin: string): boolean => deps.config.spaCorsOrigins.includes(origin)
  if (mayChangeCookies(request, { origin: new URL(deps.baseUrl).origin, isTrustedOrigin })) return
  throw new ServiceError(
    'forged_request',
    'Cannot set cookies: neither a page of this service nor one of a site that is configured asks for them',
  )
}
