/** `/<actor>/www/approvals`: calls of AI clients that wait for the owner's yes. */
import { decideApproval, showApproval, showApprovals } from '../approval-pages.ts'
import type { Route } from '../route.ts'
import { formResponses, formSchema, pageResponses } from '../schemas.ts'

export const wwwApprovalRoutes: readonly Route[] = [
  {
    id: 'approvalsPage',
    method: 'GET',
    path: '/:actor/www/approvals',
    access: 'www',
    summary: 'What AI clients want to do and may not without the owner’s yes',
    responses: pageResponses,
    handler: showApprovals,
  },
  {
    id: 'approvalPage',
    method: 'GET',
    path: '/:actor/www/approvals/:approval',
    access: 'www',
    summary: 'One call that waits, with its arguments',
    responses: pageResponses,
    handler: (exchange) => showApproval(exchange),
  },
  {
    id: 'approvalForm',
    method: 'POST',
    path: '/:actor/www/approvals/:approval',
    access: 'www',
    summary: 'Allows the call once, or refuses it',
    request: formSchema('decision'),
    responses: formResponses,
    handler: decideApproval,
  },
]
