/** Routes of `/<actor>/www/members`, the page of the members of a group. */
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import { pageForm } from '../../../http/dispatch/request-body.ts'
import type { Route } from '../../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../../http/dispatch/schemas.ts'
import { changeMembers, membersQuery, type MembersPageDeps, showMembers } from './members-page.ts'

export function memberPageRoutes(deps: () => MembersPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'membersPage',
      method: 'GET',
      path: '/:actor/www/members',
      access: 'www',
      summary: 'The members of a group with their roles, and forms to change them and to invite one',
      query: membersQuery,
      responses: pageResponses,
      handler: (exchange) => showMembers(deps(), exchange),
    }),
    defineRoute({
      id: 'membersForm',
      method: 'POST',
      path: '/:actor/www/members',
      access: 'www',
      freshSignIn: 'some',
      summary:
        'Gives a member a role (`action=role`), removes one (`action=remove`), or invites one (`action=invite`), whose link only this page shows',
      query: membersQuery,
      request: pageForm('action', 'member', 'role', 'nickname', 'days'),
      responses: { ...formResponses, 200: { text: 'The page, with the link', type: 'text/html' } },
      handler: (exchange) => changeMembers(deps(), exchange),
    }),
  ]
}
