/** Sign-in with passkeys, and the owner's passkeys and recovery codes. */
import type { PageGroup } from '../shared/page-group.ts'
import { passkeyScript } from './passkey-script.ts'
import { recoveryCodesPage } from './recovery-codes-view.ts'
import { passkeyPage } from './sign-in-view.ts'
import { passkeysPage } from './view.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { changePasskeys, type PasskeysPageDeps, showPasskeys } from './passkeys-page.ts'

function passkeysPageRoutes(deps: PasskeysPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'passkeysPage',
      method: 'GET',
      path: '/:actor/www/passkeys',
      access: 'www',
      summary: 'The passkeys and the recovery codes of the owner',
      responses: pageResponses,
      handler: (exchange) => showPasskeys(deps, exchange),
    }),
    defineRoute({
      id: 'passkeysForm',
      method: 'POST',
      path: '/:actor/www/passkeys',
      access: 'www',
      freshSignIn: 'some',
      summary:
        'Adds a passkey (`add`), names (`rename`) or removes one (`remove`), or replaces the recovery codes (`new_codes`)',
      request: pageForm('action', 'passkey', 'name', 'ticket', 'response'),
      responses: { ...formResponses, ...errorResponses(404, 409) },
      handler: (exchange) => changePasskeys(deps, exchange),
    }),
  ]
}

export const passkeys = {
  pages: [
    { name: 'passkey', template: 'aw-oauth-passkey.html', view: passkeyPage },
    { name: 'recoveryCodes', template: 'aw-oauth-recovery-codes.html', view: recoveryCodesPage },
    { name: 'passkeys', template: 'aw-actor-www-passkeys.html', view: passkeysPage },
  ],
  scripts: [passkeyScript],
  routes: passkeysPageRoutes,
} as const satisfies PageGroup
