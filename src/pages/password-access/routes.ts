/** Routes of `/<actor>/www/password-access`, the page about programs with a password. */
import { decidePasswordAccess, type PasswordAccessPageDeps, showPasswordAccess } from './password-access-page.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'

export function passwordAccessPageRoutes(deps: PasswordAccessPageDeps): readonly Route[] {
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
