/** The pages of invitations. */
import type { PageGroup } from '../../../pages/shared/page-group.ts'
import { trustInvitePage } from './invite-view.ts'
import { invitedPage } from './invited-view.ts'

export const invitationPages = {
  invitesAt: '/trust/invite',
  pages: [
    { name: 'trustInvite', template: 'aw-actor-www-trust-invite.html', view: trustInvitePage },
    { name: 'invited', template: 'aw-actor-invite.html', view: invitedPage },
  ],
} as const satisfies PageGroup
