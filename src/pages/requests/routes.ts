/** Routes of the inbox, `/<actor>/www/requests`, and of one call that waits for approval. */
import { type ApprovalPageDeps, decideApproval, showApproval } from './approval-pages.ts'
import { type InboxDeps, inboxQuery, showRequests } from './inbox.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'

export function requestPageRoutes(deps: ApprovalPageDeps & InboxDeps): readonly Route[] {
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
