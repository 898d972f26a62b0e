/** The pages of calls that wait for the owner, and their form. */
import { ServiceError } from '../../errors.ts'
import { normalise } from '../../json/json.ts'
import type { Approval } from '../../operation/approvals.ts'
import type { ApprovalRow } from './values.ts'
import { momentOf } from '../shared/time.ts'
import { wholeTreeOf } from '../shared/value-tree.ts'
import type { Answer } from '../../http/edge/response.ts'
import { readUrlencodedForm } from '../../http/edge/body.ts'
import { wordsFor } from './approval-words.ts'
import { goOn, pageValues, showPage } from '../shared/page.ts'
import { type Peers, peersOf } from '../shared/peer-names.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'

export async function showApprovals(exchange: PageExchange): Promise<Answer> {
  const { parts, actor } = exchange
  const [peers, waiting] = await Promise.all([peersOf(exchange), parts.approvals.waiting(actor.id)])
  const page = parts.pages.approvals({
    ...pageValues(exchange, '/approvals'),
    approvals: waiting.map((approval) => rowOf(exchange, peers, approval)),
  })
  return showPage(exchange, page)
}

export async function showApproval(exchange: PageExchange, error: ServiceError | null = null): Promise<Answer> {
  const { parts, actor, params } = exchange
  const id = params['approval'] ?? ''
  const [peers, approval] = await Promise.all([peersOf(exchange), parts.approvals.find(actor.id, id)])
  if (approval === null)
    throw new ServiceError(
      'not_found',
      'This call no longer waits for your approval: it has expired, or its caller is no longer connected',
    )
  const path = `/approvals/${encodeURIComponent(id)}`
  const values = pageValues(exchange, path, error)
  const page = parts.pages.approval({
    ...values,
    approval: rowOf(exchange, peers, approval),
    arguments: wholeTreeOf(normalise(JSON.stringify(approval.arguments))),
    form_action: `${values.actor_www}${path}`,
  })
  return showPage(exchange, page, error?.status)
}

function rowOf({ parts, actor }: PageExchange, peers: Peers, approval: Approval): ApprovalRow {
  const now = parts.now()
  return {
    id: approval.approvalId,
    href: `${parts.basePath}/${actor.id}/www/approvals/${encodeURIComponent(approval.approvalId)}`,
    peer: peers.nameOf(approval.peerId),
    kind: approval.kind,
    operation: approval.operation,
    ...wordsFor(parts, approval),
    asked: momentOf(approval.createdAt, now),
    expires: momentOf(approval.expiresAt, now),
    state: approval.state,
  }
}

export async function decideApproval(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, params } = exchange
  const id = params['approval'] ?? ''
  const sent = await readUrlencodedForm(exchange.request, exchange.parts.config)
  return refusedOnPage(
    exchange,
    async () => {
      const decision = sent.get('decision')
      if (decision !== 'allow' && decision !== 'refuse') throw formRefusal('the decision is neither allow nor refuse')
      if (!(await parts.approvals.decide(actor.id, id, decision === 'allow' ? 'approved' : 'denied')))
        throw new ServiceError('conflict', 'Cannot decide this: it was decided already, or it is not open any more')
      return goOn(exchange, sent, `/approvals/${encodeURIComponent(id)}`, decision === 'allow' ? 'allowed' : 'refused')
    },
    (error) => showApproval(exchange, error),
  )
}
