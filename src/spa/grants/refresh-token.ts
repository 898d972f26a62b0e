/** Grant `refresh_token`: new tokens of the same session for its refresh token, from the body or the cookie. */
import { ServiceError } from '../../errors.ts'
import type { Tokens } from '../../token/tokens.ts'
import { optional, stringField } from '../../json/fields.ts'
import { type SpaGrant, spaGrant } from './grant.ts'

const fields = { refresh_token: optional(stringField('Default: the refresh token in the cookie')) }

export function refreshGrant(tokens: Tokens): SpaGrant {
  return spaGrant(fields, async ({ visitor }, { refresh_token: sent }) => {
    const presented = sent ?? visitor.refreshToken
    if (presented === null) throw new ServiceError('bad_request', 'Cannot refresh: refresh_token is missing')
    const issued = await tokens.refresh(presented, { kind: 'session' })
    if (issued === null) {
      throw new ServiceError(
        'unauthorized',
        'Cannot refresh: the refresh token is invalid or has expired; sign in again',
        {
          headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
        },
      )
    }
    return { tokens: issued, members: { email: issued.identifier } }
  })
}
