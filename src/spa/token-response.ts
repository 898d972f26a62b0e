/** Token responses to single-page and mobile applications (WIRE-SIGNIN-05): in the body, in cookies, or in both. */
import { choiceField, optional } from '../json/fields.ts'
import type { IssuedTokens } from '../token/chain.ts'
import { type HttpResponse, json } from '../http/edge/response.ts'
import { deliveryCookies, type TokenDelivery } from '../http/edge/cookies.ts'

export const deliveryField = optional<TokenDelivery>(
  choiceField('How the tokens are delivered', ['json', 'cookie', 'hybrid']),
  'json',
)

/** @param further Members that the grant adds to the body, in every delivery. */
export function tokenResponse(tokens: IssuedTokens, delivery: TokenDelivery, further: object): HttpResponse {
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
  return delivery === 'json' ? answer : { ...answer, cookies: deliveryCookies(tokens, delivery) }
}
