/** Grant `mobile_ticket`: tokens for the ticket that a deep link brought. */
import type { SignIn } from '../../sign-in/sign-in.ts'
import { deviceOf } from '../../token/device.ts'
import { requireField } from '../spa-body.ts'
import type { SpaGrant } from './grant.ts'
import { asGrant } from './refused.ts'

export function ticketGrant(signIn: Pick<SignIn, 'native'>): SpaGrant {
  return async ({ request, fields, charge }) => {
    const ticket = requireField(fields, 'ticket')
    await charge('ticket')
    const device = deviceOf(request.header('user-agent'))
    const tokens = await asGrant(signIn.native.redeemTicket(ticket, fields.get('code_verifier'), device))
    return { tokens, members: { email: tokens.identifier } }
  }
}
