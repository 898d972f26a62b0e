/** Grant `mobile_ticket`: tokens for the ticket that a deep link brought. */
import type { SignIn } from '../../sign-in/sign-in.ts'
import { deviceOf } from '../../token/device.ts'
import { optional, stringField } from '../../json/fields.ts'
import { type SpaGrant, spaGrant } from './grant.ts'
import { asGrant } from './refused.ts'

const fields = {
  ticket: stringField('That the deep link brought'),
  code_verifier: optional(stringField('RFC 7636')),
}

export function ticketGrant(signIn: Pick<SignIn, 'native'>): SpaGrant {
  return spaGrant(fields, async ({ request, charge }, { ticket, code_verifier: codeVerifier }) => {
    await charge('ticket')
    const device = deviceOf(request.header('user-agent'))
    const tokens = await asGrant(signIn.native.redeemTicket(ticket, codeVerifier, device))
    return { tokens, members: { email: tokens.identifier } }
  })
}
