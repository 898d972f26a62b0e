/** Routes of `/<actor>/www/passkeys`. */
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { changePasskeys, type PasskeysPageDeps, showPasskeys } from './passkeys-page.ts'

export function passkeysPageRoutes(deps: PasskeysPageDeps): readonly Route[] {
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
