/** `/oauth/token/revoke`: a client revokes a token (RFC 7009). */
import type { TokenEndpoint } from '../../../authorization-server/token-endpoint.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import type { HttpResponse } from '../../edge/response.ts'
import { authorizationOf, inOAuthWords, type OAuthFields, oauthJson } from '../../dispatch/oauth/oauth-response.ts'
import { oauthForm, oauthRefusals } from '../../dispatch/oauth/oauth-schemas.ts'

export interface RevocationRouteDeps {
  readonly tokenEndpoint: TokenEndpoint
}

export function revocationRoutes(deps: RevocationRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'revokeClientToken',
      method: 'POST',
      path: '/oauth/token/revoke',
      access: 'oauth-client',
      cors: 'server',
      limit: ['client_token/source', 'client_token/total'],
      summary: 'Revokes a token of a client (RFC 7009)',
      request: oauthForm('token', 'token_type_hint'),
      // RFC 6749 section 3.2: unrecognized parameters are ignored.
      unknownQuery: 'ignored',
      responses: { 200: 'The token is not valid', 401: 'invalid_client', ...oauthRefusals },
      handler: (exchange) => inOAuthWords(() => revoke(deps, exchange)),
    }),
  ]
}

async function revoke(
  { tokenEndpoint }: RevocationRouteDeps,
  { request, body }: Exchange & Bodied<OAuthFields>,
): Promise<HttpResponse> {
  await tokenEndpoint.revoke(await body(), authorizationOf(request))
  return oauthJson(200, {})
}
