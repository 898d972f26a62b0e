/** Grant `urn:ietf:params:oauth:grant-type:jwt-bearer` (RFC 7523): tokens for an id_token that a native application got. */
import type { SignIn } from '../../sign-in/sign-in.ts'
import { deviceOf } from '../../token/device.ts'
import { stringField } from '../../json/fields.ts'
import { type SpaGrant, spaGrant } from './grant.ts'
import { asGrant } from './refused.ts'

const fields = {
  provider: stringField('Provider that issued the id_token'),
  assertion: stringField('The id_token'),
  nonce: stringField('Nonce of the id_token'),
}

export function assertionGrant(signIn: Pick<SignIn, 'native'>): SpaGrant {
  return spaGrant(fields, async ({ request }, sent) => {
    const redeemed = signIn.native.redeemAssertion({
      ...sent,
      device: deviceOf(request.header('user-agent')),
    })
    const tokens = await asGrant(redeemed)
    return { tokens, members: { email: tokens.identifier } }
  })
}
