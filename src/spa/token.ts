/** `/oauth/spa/token`: tokens for single-page and mobile applications. */
import { ServiceError } from '../errors.ts'
import type { Answer } from '../http/edge/response.ts'
import { mayChangeCookies } from '../http/dispatch/anti-forgery.ts'
import { grants } from './grants/grants.ts'
import type { Exchange, Route } from '../http/dispatch/route.ts'
import { spaErrors, tokenSchema } from '../http/dispatch/schemas.ts'
import { readSpaFields } from './spa-body.ts'
import { deliveryOf, tokenAnswer } from './token-response.ts'

export const spaTokenRoutes: readonly Route[] = [
  {
    id: 'spaToken',
    method: 'POST',
    path: '/oauth/spa/token',
    access: 'service',
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
    handler: issue,
  },
]

async function issue(exchange: Exchange): Promise<Answer> {
  const { parts, request } = exchange
  const fields = await readSpaFields(request, parts.config)
  const delivery = deliveryOf(fields)
  if (delivery !== 'json') refuseCookiesForOthers(exchange)
  const grant = grants.get(fields.get('grant_type') ?? '')
  if (grant === undefined) {
    throw new ServiceError('bad_request', `Cannot issue tokens: grant_type is one of ${[...grants.keys()].join(', ')}`)
  }
  try {
    const { tokens, members } = await grant({ ...exchange, fields })
    return tokenAnswer(tokens, delivery, members)
  } finally {
    parts.purge.occasionally()
  }
}

/** Another site could otherwise sign its visitors in as somebody else: the cookies would be theirs from then on. */
function refuseCookiesForOthers({ parts, request }: Exchange): void {
  const isTrustedOrigin = (origin: string): boolean => parts.config.spaCorsOrigins.includes(origin)
  if (mayChangeCookies(request, { origin: new URL(parts.baseUrl).origin, isTrustedOrigin })) return
  throw new ServiceError(
    'forged_request',
    'Cannot set cookies: neither a page of this service nor one of a site that is configured asks for them',
  )
}
