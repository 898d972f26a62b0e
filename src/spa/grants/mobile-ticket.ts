/** Grant `mobile_ticket`: tokens for the ticket from a deep link. */
import type { SignIn } from '../../sign-in/sign-in.ts'
import { deviceOf } from '../../token/device.ts'
import { optional, stringField } from '../../json/fields.ts'
import { type SpaGrant, spaGrant } from './grant.ts'
import { asGrant } from './refused.ts'

const fields = {
  ticket: stringField('Ticket from the deep link'),
  code_verifier: optional(stringField('Code verifier (RFC 7636)')),
}

export function ticketGrant(signIn: Pick<SignIn, 'native'>): SpaGrant {
  return spaGrant(fields, async ({ request, charge }, { ticket, code_verifier: codeVerifier }) => {
    await charge('ticket')
    const device = deviceOf(request.header('user-agent'))
    const tokens = await asGrant(signIn.native.redeemTicket(ticket, codeVerifier, device))
    return { tokens, members: { email: tokens.identifier } }
  })
}
