/** Token responses to single-page and mobile applications (WIRE-SIGNIN-05): in the body, in cookies, or in both. */
import { choiceField, optional } from '../json/fields.ts'
import type { IssuedTokens } from '../token/chain.ts'
import { type HttpResponse, json } from '../http/edge/response.ts'
import type { VisitorExchange } from '../http/dispatch/route.ts'
import type { TokenDelivery } from '../http/edge/cookies/session-cookies.ts'

export const deliveryField = optional<TokenDelivery>(
  choiceField('How the tokens are delivered', ['json', 'cookie', 'hybrid']),
  'json',
)

/** @param further Members that the grant adds to the body, in every delivery. */
export async function tokenResponse(
  { visitor }: Pick<VisitorExchange, 'visitor'>,
  { tokens, delivery }: { readonly tokens: IssuedTokens; readonly delivery: TokenDelivery },
  further: object,
): Promise<HttpResponse> {
  const access = { access_token: tokens.accessToken, token_type: 'Bearer' }
  const refresh = { refresh_token: tokens.refreshToken, refresh_token_expires_in: tokens.refreshExpiresIn }
  const answer = json(200, {
    success: true,
    actor_id: tokens.actorId,
    ...further,
    expires_in: tokens.expiresIn,
    expires_at: tokens.expiresAt,
    ...(delivery === 'cookie' ? {} : access),
    ...(delivery === 'json' ? refresh : { token_delivery: delivery }),
  })
  if (delivery === 'json') return answer
  return { ...answer, cookies: (await visitor.sessionCookies()).delivery(tokens, delivery) }
}
