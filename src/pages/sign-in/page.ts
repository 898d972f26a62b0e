/** Pages for sign-in and sign-out. */
import type { PageGroup } from '../shared/page-group.ts'
import { signOutPage } from './sign-out.ts'
import { emailPage } from './email.ts'
import { emailLinkPage } from './email-link.ts'
import { verificationPage } from './verification.ts'
import { claimPage } from './account-linking.ts'

export const signIn = {
  pages: [
    { name: 'signOut', template: 'aw-root-logout.html', view: signOutPage },
    { name: 'email', template: 'aw-oauth-email.html', view: emailPage },
    { name: 'verification', template: 'aw-verify-email.html', view: verificationPage },
    { name: 'emailLink', template: 'aw-oauth-email-link.html', view: emailLinkPage },
    { name: 'claim', template: 'aw-oauth-claim.html', view: claimPage },
  ],
} as const satisfies PageGroup
