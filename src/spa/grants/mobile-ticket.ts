/** Grant `mobile_ticket`: tokens for the ticket that a deep link brought. */
import { deviceOf } from '../../token/device.ts'
import { requireField } from '../spa-body.ts'
import type { Grant } from './grant.ts'
import { asGrant } from './refused.ts'

export const mobileTicket: Grant = async ({ parts, request, fields, charge }) => {
  const ticket = requireField(fields, 'ticket')
  await charge('ticket')
  const device = deviceOf(request.header('user-agent'))
  const tokens = await asGrant(parts.signIn.native.redeemTicket(ticket, fields.get('code_verifier'), device))
  return { tokens, members: { email: tokens.identifier } }
}
