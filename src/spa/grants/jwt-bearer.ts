/** Grant `urn:ietf:params:oauth:grant-type:jwt-bearer` (RFC 7523): tokens for an id_token that a native application got. */
import { deviceOf } from '../../token/device.ts'
import { requireField } from '../spa-body.ts'
import type { Grant } from './grant.ts'
import { asGrant } from './refused.ts'

export const jwtBearer: Grant = async ({ parts, request, fields }) => {
  const redeemed = parts.signIn.native.redeemAssertion({
    provider: requireField(fields, 'provider'),
    assertion: requireField(fields, 'assertion'),
    nonce: requireField(fields, 'nonce'),
    device: deviceOf(request.header('user-agent')),
  })
  const tokens = await asGrant(redeemed)
  return { tokens, members: { email: tokens.identifier } }
}
