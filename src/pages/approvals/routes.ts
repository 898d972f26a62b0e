/** `/<actor>/www/approvals`: calls that wait for the owner's approval. */
import { type ApprovalPageDeps, decideApproval, showApproval, showApprovals } from './approval-pages.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'

export function approvalPageRoutes(deps: ApprovalPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'approvalsPage',
      method: 'GET',
      path: '/:actor/www/approvals',
      access: 'www',
      summary: 'Calls that wait for the owner’s approval',
      responses: pageResponses,
      handler: (exchange) => showApprovals(deps, exchange),
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
