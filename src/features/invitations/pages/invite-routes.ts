/** Routes of `/<actor>/www/trust/invite`: the page that creates and revokes invitations. */
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import { pageForm } from '../../../http/dispatch/request-body.ts'
import type { Route } from '../../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../../http/dispatch/schemas.ts'
import { changeInvitations, type InvitePageDeps, showInvite } from './invite-page.ts'

export function invitePageRoutes(deps: () => InvitePageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'invitePage',
      method: 'GET',
      path: '/:actor/www/trust/invite',
      access: 'www',
      summary: 'A form that creates an invitation, and the open invitations',
      responses: pageResponses,
      handler: (exchange) => showInvite(deps(), exchange),
    }),
    defineRoute({
      id: 'inviteForm',
      method: 'POST',
      path: '/:actor/www/trust/invite',
      access: 'www',
      freshSignIn: 'some',
      summary:
        'Creates an invitation (`action=create`), whose link only this page shows, or revokes one (`action=revoke`)',
      request: pageForm('action', 'trust_type', 'nickname', 'days', 'invitation'),
      responses: { ...formResponses, 200: { text: 'The page, with the link', type: 'text/html' } },
      handler: (exchange) => changeInvitations(deps(), exchange),
    }),
  ]
}
