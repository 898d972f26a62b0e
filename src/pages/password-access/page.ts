/** Programs with a password; the page of connected apps links here. */
import type { PageGroup } from '../shared/page-group.ts'
import { passwordAccessPage } from './view.ts'
import { decidePasswordAccess, type PasswordAccessPageDeps, showPasswordAccess } from './password-access-page.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'

function passwordAccessPageRoutes(deps: PasswordAccessPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'passwordAccessPage',
      method: 'GET',
      path: '/:actor/www/password-access',
      access: 'www',
      summary: 'Programs that created an account under the owner’s name with a password',
      responses: pageResponses,
      handler: (exchange) => showPasswordAccess(deps, exchange),
    }),
    defineRoute({
      id: 'passwordAccessForm',
      method: 'POST',
      path: '/:actor/www/password-access',
      access: 'www',
      freshSignIn: 'some',
      summary: 'Keeps (`keep`) or revokes (`revoke`) the access of a program',
      request: pageForm('action', 'actor'),
      responses: formResponses,
      handler: (exchange) => decidePasswordAccess(deps, exchange),
    }),
  ]
}

export const passwordAccess = {
  pages: [{ name: 'passwordAccess', template: 'aw-actor-www-password-access.html', view: passwordAccessPage }],
  routes: passwordAccessPageRoutes,
} as const satisfies PageGroup
