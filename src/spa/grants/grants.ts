/** Every grant of `/oauth/spa/token`, by its `grant_type`. */
import { authorizationCode } from './authorization-code.ts'
import type { Grant } from './grant.ts'
import { jwtBearer } from './jwt-bearer.ts'
import { mobileTicket } from './mobile-ticket.ts'
import { passphrase } from './passphrase.ts'
import { refreshToken } from './refresh-token.ts'

export const grants: ReadonlyMap<string, Grant> = new Map([
  ['authorization_code', authorizationCode],
  ['refresh_token', refreshToken],
  ['urn:ietf:params:oauth:grant-type:jwt-bearer', jwtBearer],
  ['mobile_ticket', mobileTicket],
  // The name that it had before others than Apple gave tickets.
  ['apple_mobile_ticket', mobileTicket],
  ['passphrase', passphrase],
])
