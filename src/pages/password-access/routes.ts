/** `/<actor>/www/password-access`: programs with a password on a page. */
import { decidePasswordAccess, type PasswordAccessPageDeps, showPasswordAccess } from './password-access-page.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, formSchema, pageResponses } from '../../http/dispatch/schemas.ts'

export function passwordAccessPageRoutes(deps: PasswordAccessPageDeps): readonly Route[] {
  return [
    {
      id: 'passwordAccessPage',
      method: 'GET',
      path: '/:actor/www/password-access',
      access: 'www',
      summary: 'Programs that created an account under the owner’s name with a password',
      responses: pageResponses,
      handler: (exchange) => showPasswordAccess(deps, exchange),
    },
    {
      id: 'passwordAccessForm',
      method: 'POST',
      path: '/:actor/www/password-access',
      access: 'www',
      summary: 'Keeps (`keep`) or revokes (`revoke`) the access of a program',
      request: formSchema('action', 'actor'),
      responses: formResponses,
      handler: (exchange) => decidePasswordAccess(deps, exchange),
    },
  ]
}
