/** Every grant of `/oauth/spa/token`, by its `grant_type`. */
import type { SignIn } from '../../sign-in/sign-in.ts'
import type { Tokens } from '../../token/tokens.ts'
import { codeGrant } from './authorization-code.ts'
import type { SpaGrant } from './grant.ts'
import { assertionGrant } from './jwt-bearer.ts'
import { ticketGrant } from './mobile-ticket.ts'
import { passphraseGrant, type PassphraseGrantDeps } from './passphrase.ts'
import { refreshGrant } from './refresh-token.ts'

export interface SpaGrantDeps extends PassphraseGrantDeps {
  readonly signIn: Pick<SignIn, 'native'>
  readonly tokens: Tokens
}

export function spaGrants(deps: SpaGrantDeps): ReadonlyMap<string, SpaGrant> {
  const { signIn, tokens } = deps
  return new Map([
    ['authorization_code', codeGrant(signIn)],
    ['refresh_token', refreshGrant(tokens)],
    ['urn:ietf:params:oauth:grant-type:jwt-bearer', assertionGrant(signIn)],
    ['mobile_ticket', ticketGrant(signIn)],
    // The old name, from the time when only Apple sign-ins used tickets.
    ['apple_mobile_ticket', ticketGrant(signIn)],
    ['passphrase', passphraseGrant(deps)],
  ])
}
