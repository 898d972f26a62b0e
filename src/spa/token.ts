/** `/oauth/spa/token`: tokens for single-page and mobile applications. */
import type { Config } from '../config/options.ts'
import { ServiceError } from '../errors.ts'
import { choiceField, optional } from '../json/fields.ts'
import { spaGrants, type SpaGrantDeps } from './grants/grants.ts'
import { defineRoute } from '../http/dispatch/define-route.ts'
import type { Route, VisitorExchange } from '../http/dispatch/route.ts'
import { spaErrors, tokenSchema } from '../http/dispatch/schemas.ts'
import { readSpaFields, readSpaParams, spaContent } from './spa-body.ts'
import { deliveryField, tokenResponse } from './token-response.ts'
import type { Purge } from '../token/purge.ts'

export interface SpaTokenDeps extends SpaGrantDeps {
  readonly purge: Purge
  readonly config: Pick<Config, 'devtest'>
}

export function spaTokenRoutes(deps: SpaTokenDeps): readonly Route[] {
  const grants = spaGrants(deps)
  const fields = {
    grant_type: choiceField('The kind of grant', [...grants.keys()]),
    token_delivery: deliveryField,
  }
  const ofGrants = [...grants.values()].flatMap((grant) => Object.entries(grant.fields))
  const optionalOfGrants = Object.fromEntries(ofGrants.map(([name, field]) => [name, optional(field)]))
  return [
    defineRoute({
      id: 'spaToken',
      method: 'POST',
      path: '/oauth/spa/token',
      access: 'visitor',
      cors: 'spa',
      errors: 'spa',
      limit: ['token/source', 'token/total'],
      summary: 'Issues tokens to a single-page or mobile application, by the grant in `grant_type`',
      request: {
        content: spaContent({ ...fields, ...optionalOfGrants }),
        read: async (sent) => {
          const params = await readSpaParams(sent)
          const { grant_type: type, token_delivery: delivery } = readSpaFields(fields, params)
          return { grant: grants.get(type), delivery, params }
        },
      },
      responses: { 200: { text: 'The tokens', schema: tokenSchema }, ...spaErrors(400, 401, 403, 404, 415, 429, 503) },
      handler: async (exchange) => {
        const { grant, delivery, params } = await exchange.body()
        if (delivery !== 'json') refuseCookiesForOthers(exchange)
        try {
          if (grant === undefined) throw new ServiceError('bad_request', 'Cannot issue tokens: grant_type is unknown')
          const { tokens, members } = await grant.run(exchange, params)
          return await tokenResponse(exchange, { tokens, delivery }, members)
        } finally {
          deps.purge.occasionally()
        }
      },
    }),
  ]
}

/** Refuses cookies for other sites, which could otherwise sign their visitors in as another user (login CSRF). */
function refuseCookiesForOthers({ visitor }: Pick<VisitorExchange, 'visitor'>): void {
  if (visitor.mayChangeCookies) return
  throw new ServiceError(
    'forged_request',
    'Cannot set cookies: the request is neither from a page of this service nor from a configured origin',
  )
}
