/** Sign-in with passkeys, and the owner's passkeys and recovery codes. */
import type { PageGroup } from '../shared/page-group.ts'
import { passkeyScript } from './passkey-script.ts'
import { recoveryCodesPage } from './recovery-codes-view.ts'
import { passkeysPageRoutes } from './routes.ts'
import { passkeyPage } from './sign-in-view.ts'
import { passkeysPage } from './view.ts'

export const passkeys = {
  pages: [
    { name: 'passkey', template: 'aw-oauth-passkey.html', view: passkeyPage },
    { name: 'recoveryCodes', template: 'aw-oauth-recovery-codes.html', view: recoveryCodesPage },
    { name: 'passkeys', template: 'aw-actor-www-passkeys.html', view: passkeysPage },
  ],
  scripts: [passkeyScript],
  routes: passkeysPageRoutes,
} as const satisfies PageGroup
