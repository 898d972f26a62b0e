/** Grant `authorization_code`: tokens for a code that the application got from a provider itself. */
import type { SignIn } from '../../sign-in/sign-in.ts'
import { deviceOf } from '../../token/device.ts'
import { optional, stringField } from '../../json/fields.ts'
import { type SpaGrant, spaGrant } from './grant.ts'
import { asGrant } from './refused.ts'

const fields = {
  code: stringField('Authorization code from the provider'),
  provider: optional(stringField('Provider that issued the code')),
  redirect_uri: optional(stringField('The `redirect_uri` of the authorization request')),
  code_verifier: optional(stringField('Code verifier (RFC 7636)')),
}

export function codeGrant(signIn: Pick<SignIn, 'native'>): SpaGrant {
  return spaGrant(fields, async ({ request }, sent) => {
    const redeemed = signIn.native.redeemCode({
      code: sent.code,
      provider: sent.provider,
      redirectUri: sent.redirect_uri,
      codeVerifier: sent.code_verifier,
      device: deviceOf(request.header('user-agent')),
    })
    const tokens = await asGrant(redeemed)
    return { tokens, members: { email: tokens.identifier } }
  })
}
