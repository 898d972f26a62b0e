/** Grant `authorization_code`: tokens for a code that the application got from a provider itself. */
import type { SignIn } from '../../sign-in/sign-in.ts'
import { deviceOf } from '../../token/device.ts'
import { requireField } from '../spa-body.ts'
import type { SpaGrant } from './grant.ts'
import { asGrant } from './refused.ts'

export function codeGrant(signIn: Pick<SignIn, 'native'>): SpaGrant {
  return async ({ request, fields }) => {
    const redeemed = signIn.native.redeemCode({
      code: requireField(fields, 'code'),
      provider: fields.get('provider'),
      redirectUri: fields.get('redirect_uri'),
      codeVerifier: fields.get('code_verifier'),
      device: deviceOf(request.header('user-agent')),
    })
    const tokens = await asGrant(redeemed)
    return { tokens, members: { email: tokens.identifier } }
  }
}
