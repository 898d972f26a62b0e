/** Grant `urn:ietf:params:oauth:grant-type:jwt-bearer` (RFC 7523): tokens for an id_token that a native application got. */
import type { SignIn } from '../../sign-in/sign-in.ts'
import { deviceOf } from '../../token/device.ts'
import { requireField } from '../spa-body.ts'
import type { SpaGrant } from './grant.ts'
import { asGrant } from './refused.ts'

export function assertionGrant(signIn: Pick<SignIn, 'native'>): SpaGrant {
  return async ({ request, fields }) => {
    const redeemed = signIn.native.redeemAssertion({
      provider: requireField(fields, 'provider'),
      assertion: requireField(fields, 'assertion'),
      nonce: requireField(fields, 'nonce'),
      device: deviceOf(request.header('user-agent')),
    })
    const tokens = await asGrant(redeemed)
    return { tokens, members: { email: tokens.identifier } }
  }
}
