/** Grant `authorization_code`: tokens for a code that the application got from a provider itself. */
import { deviceOf } from '../../token/device.ts'
import { requireField } from '../spa-body.ts'
import type { Grant } from './grant.ts'
import { asGrant } from './refused.ts'

export const authorizationCode: Grant = async ({ parts, request, fields }) => {
  const redeemed = parts.signIn.native.redeemCode({
    code: requireField(fields, 'code'),
    provider: fields.get('provider'),
    redirectUri: fields.get('redirect_uri'),
    codeVerifier: fields.get('code_verifier'),
    device: deviceOf(request.header('user-agent')),
  })
  const tokens = await asGrant(redeemed)
  return { tokens, members: { email: tokens.identifier } }
}
