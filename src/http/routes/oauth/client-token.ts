/** `/oauth/token`: tokens for clients (RFC 6749 section 3.2). */
import type { TokenEndpoint } from '../../../authorization-server/token-endpoint.ts'
import type { Log } from '../../../observe/log.ts'
import type { Purge } from '../../../token/purge.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { anyValue } from '../../dispatch/schemas.ts'
import type { HttpResponse } from '../../edge/response.ts'
import { authorizationOf, inOAuthWords, type OAuthFields, oauthJson } from '../../dispatch/oauth/oauth-response.ts'
import { oauthForm, oauthRefusals } from '../../dispatch/oauth/oauth-schemas.ts'

export interface ClientTokenRouteDeps {
  readonly tokenEndpoint: TokenEndpoint
  readonly purge: Purge
  readonly log: Log
  /** Unix milliseconds, by the store's clock. */
  readonly now: () => number
}

export function clientTokenRoutes(deps: ClientTokenRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'clientToken',
      method: 'POST',
      path: '/oauth/token',
      access: 'oauth-client',
      cors: 'server',
      limit: ['client_token/source', 'client_token/total'],
      summary: 'Tokens for a client (RFC 6749 section 3.2)',
      request: oauthForm('grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'resource'),
      // RFC 6749 section 3.2: unrecognized parameters are ignored.
      unknownQuery: 'ignored',
      responses: { 200: { text: 'The tokens', schema: anyValue }, 401: 'invalid_client', ...oauthRefusals },
      handler: (exchange) => inOAuthWords(() => issue(deps, exchange)),
    }),
  ]
}

async function issue(
  deps: ClientTokenRouteDeps,
  { request, body }: Exchange & Bodied<OAuthFields>,
): Promise<HttpResponse> {
  const receivedAt = deps.now()
  const fields = await body()
  const { tokens, scope, isRefreshable, members } = await deps.tokenEndpoint.issue(
    fields,
    authorizationOf(request),
    receivedAt,
  )
  deps.purge.occasionally()
  deps.log.debug({ actorId: tokens.actorId, device: request.header('user-agent')?.slice(0, 80) }, 'A client got tokens')
  return oauthJson(200, {
    access_token: tokens.accessToken,
    token_type: 'Bearer',
    expires_in: tokens.expiresIn,
    ...(isRefreshable ? { refresh_token: tokens.refreshToken } : {}),
    scope,
    ...members,
  })
}
