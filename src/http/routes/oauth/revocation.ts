/** `/oauth/token/revoke`: a client gives a token back (RFC 7009). */
import type { TokenEndpoint } from '../../../authorization-server/token-endpoint.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import type { BodyLimits } from '../../edge/body.ts'
import type { Answer } from '../../edge/response.ts'
import { authorizationOf, inOAuthWords, oauthJson, readOAuthForm } from './oauth-response.ts'
import { oauthForm, oauthRefusals } from './oauth-schemas.ts'

export interface RevocationRouteDeps {
  readonly tokenEndpoint: TokenEndpoint
  readonly config: BodyLimits
}

export function revocationRoutes(deps: RevocationRouteDeps): readonly Route[] {
  return [
    {
      id: 'revokeClientToken',
      method: 'POST',
      path: '/oauth/token/revoke',
      access: 'oauth-client',
      cors: 'server',
      limit: ['client_token/source', 'client_token/total'],
      summary: 'A client gives a token back (RFC 7009)',
      request: oauthForm({ token: {}, token_type_hint: {} }),
      responses: { 200: 'It is good for nothing any more', 401: 'invalid_client', ...oauthRefusals },
      handler: (exchange) => inOAuthWords(() => revoke(deps, exchange)),
    },
  ]
}

async function revoke({ tokenEndpoint, config }: RevocationRouteDeps, { request }: Exchange): Promise<Answer> {
  await tokenEndpoint.revoke(await readOAuthForm(request, config), authorizationOf(request))
  return oauthJson(200, {})
}
