/** Calls that wait for approval; the page of connected apps links here. */
import type { PageGroup } from '../shared/page-group.ts'
import { approvalPageRoutes } from './routes.ts'
import { approvalsPage } from './list-view.ts'
import { approvalPage } from './approval-view.ts'

export const approvals = {
  pages: [
    { name: 'approvals', template: 'aw-actor-www-approvals.html', view: approvalsPage },
    { name: 'approval', template: 'aw-actor-www-approval.html', view: approvalPage },
  ],
  routes: approvalPageRoutes,
} as const satisfies PageGroup
