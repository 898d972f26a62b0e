/** The page of the members of a group. */
import type { PageGroup } from '../../../pages/shared/page-group.ts'
import { membersPage } from './members-view.ts'

export const memberPages = {
  membersAt: '/members',
  pages: [{ name: 'members', template: 'aw-actor-www-members.html', view: membersPage }],
} as const satisfies PageGroup
