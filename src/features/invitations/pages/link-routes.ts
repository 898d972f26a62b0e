/** `/<actor>/invite`: the links of invitations. */
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import type { Route } from '../../../http/dispatch/route.ts'
import { errorResponses } from '../../../http/dispatch/schemas.ts'
import { type InvitedPageDeps, showInvited } from './invited-page.ts'

const text = { type: 'string' }
const shownSchema = {
  type: 'object',
  required: ['actor', 'relationship', 'ends_at'],
  properties: {
    actor: { ...text, format: 'uri', description: 'The actor that invites' },
    relationship: text,
    name: { ...text, description: 'The display name of its owner; absent without one' },
    ends_at: { ...text, format: 'date-time' },
    membership: {
      type: 'object',
      required: ['kind', 'role', 'description', 'permissions'],
      properties: {
        kind: { ...text, description: 'The name of the kind of the group' },
        role: text,
        description: text,
        permissions: {
          type: 'object',
          description: 'What the role grants at the group, like the permissions of a peer',
        },
      },
      description: 'The membership of an invitation to a group; absent for others',
    },
  },
} as const

export function invitationLinkRoutes(deps: () => InvitedPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'showInvitation',
      method: 'GET',
      path: '/:actor/invite/:code',
      access: 'public',
      page: true,
      summary: 'The invitation with this link: a page for a browser, else JSON',
      responses: { 200: { text: 'The invitation', schema: shownSchema }, ...errorResponses(404) },
      handler: (exchange) => showInvited(deps(), exchange),
    }),
  ]
}
