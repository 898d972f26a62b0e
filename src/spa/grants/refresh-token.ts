/** Grant `refresh_token`: new tokens of the same session for its refresh token, from the body or the cookie. */
import { ServiceError } from '../../errors.ts'
import { cookieOf, refreshCookieName } from '../../http/edge/cookies.ts'
import type { Grant } from './grant.ts'

export const refreshToken: Grant = async ({ parts, request, fields }) => {
  // As everywhere, a cookie counts only where no header says who asks.
  const ofCookie = request.header('authorization') === undefined ? cookieOf(request, refreshCookieName) : null
  const presented = fields.get('refresh_token') ?? ofCookie
  if (presented === null) throw new ServiceError('bad_request', 'Cannot refresh: refresh_token is missing')
  const tokens = await parts.tokens.refresh(presented, { kind: 'session' })
  if (tokens === null) {
    throw new ServiceError(
      'unauthorized',
      'Cannot refresh: the refresh token is invalid or has expired; sign in again',
      {
        headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
      },
    )
  }
  return { tokens, members: { email: tokens.identifier } }
}
