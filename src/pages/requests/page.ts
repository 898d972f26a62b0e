/** The inbox of the owner: requests to connect, calls that wait for approval, failures, and the history of decisions. */
import type { PageGroup } from '../shared/page-group.ts'
import { approvalPage } from './approval-view.ts'
import { requestsPage } from './inbox-view.ts'
import { requestPageRoutes } from './routes.ts'
import { requestStyle } from './style.ts'

export const requests = {
  section: { path: '/requests', label: 'requests', icon: 'requests', count: 'open' },
  pages: [
    { name: 'requests', template: 'aw-actor-www-requests.html', view: requestsPage },
    { name: 'approval', template: 'aw-actor-www-approval.html', view: approvalPage },
  ],
  styles: [requestStyle],
  routes: requestPageRoutes,
} as const satisfies PageGroup
