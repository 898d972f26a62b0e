/** The inbox of the owner: requests to connect, calls that wait for approval, failures, and the history of decisions. */
import type { PageGroup } from '../shared/page-group.ts'
import { approvalPage } from './approval-view.ts'
import { requestsPage } from './inbox-view.ts'
import { requestStyle } from './style.ts'
import { type ApprovalPageDeps, decideApproval, showApproval } from './approval-pages.ts'
import { type InboxDeps, inboxQuery, showRequests } from './inbox.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'

function requestPageRoutes(deps: ApprovalPageDeps & InboxDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'requestsPage',
      method: 'GET',
      path: '/:actor/www/requests',
      access: 'www',
      summary: 'Everything that waits for the owner, and the history of decisions',
      query: inboxQuery,
      responses: { ...pageResponses, ...errorResponses(400) },
      handler: (exchange) => showRequests(deps, exchange),
    }),
    defineRoute({
      id: 'approvalPage',
      method: 'GET',
      path: '/:actor/www/approvals/:approval',
      access: 'www',
      summary: 'One call that waits, with its arguments',
      responses: pageResponses,
      handler: (exchange) => showApproval(deps, exchange),
    }),
    defineRoute({
      id: 'approvalForm',
      method: 'POST',
      path: '/:actor/www/approvals/:approval',
      access: 'www',
      summary: 'Allows the call once, or refuses it',
      request: pageForm('decision'),
      responses: formResponses,
      handler: (exchange) => decideApproval(deps, exchange),
    }),
  ]
}

export const requests = {
  section: { path: '/requests', label: 'requests', icon: 'requests', count: 'open' },
  pages: [
    { name: 'requests', template: 'aw-actor-www-requests.html', view: requestsPage },
    { name: 'approval', template: 'aw-actor-www-approval.html', view: approvalPage },
  ],
  styles: [requestStyle],
  routes: requestPageRoutes,
} as const satisfies PageGroup
