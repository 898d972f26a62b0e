/** The pages of calls that wait for approval, and their form. */
import type { ServiceError } from '../../errors.ts'
import { normalize } from '../../json/json.ts'
import type { Approval, Approvals } from '../../operation/approvals.ts'
import type { ApprovalRow, ApprovalsValues, ApprovalValues } from './values.ts'
import { momentOf } from '../shared/time.ts'
import { wholeTreeOf } from '../shared/value-tree.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { wordsFor, type ApprovalWordsDeps } from './approval-words.ts'
import { goOn, pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { type Peers, peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { Params } from '../../http/edge/params.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { View } from '../shared/values.ts'

export interface ApprovalPageDeps extends PageDeps, PeerNameDeps, ApprovalWordsDeps {
  readonly approvals: Approvals
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly approvals: View<ApprovalsValues>
    readonly approval: View<ApprovalValues>
  }
}

export async function showApprovals(deps: ApprovalPageDeps, exchange: PageExchange): Promise<HttpResponse> {
  const { actor } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const [values, peers, waiting] = await Promise.all([
    pageValues(deps, exchange, '/approvals'),
    peersOf(deps, actor.id, messages),
    deps.approvals.waiting(actor.id),
  ])
  const page = deps.pages.approvals({
    ...values,
    approvals: waiting.map((approval) => rowOf(deps, exchange, peers, approval)),
  })
  return showPage(deps, exchange, page)
}

export async function showApproval(
  deps: ApprovalPageDeps,
  exchange: PageExchange,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const { actor, params } = exchange
  const id = params['approval'] ?? ''
  const { messages } = deps.languages.of(exchange.request)
  const [peers, approval] = await Promise.all([peersOf(deps, actor.id, messages), deps.approvals.find(actor.id, id)])
  if (approval === null)
    throw pageRefusal(
      'not_found',
      'This call no longer waits for your approval: it has expired, or its caller is no longer connected',
      ({ approvals }) => approvals.expired,
    )
  const path = `/approvals/${encodeURIComponent(id)}`
  const values = await pageValues(deps, exchange, path, error)
  const page = deps.pages.approval({
    ...values,
    approval: rowOf(deps, exchange, peers, approval),
    arguments: wholeTreeOf(normalize(JSON.stringify(approval.arguments))),
    form_action: `${values.actor_www}${path}`,
  })
  return showPage(deps, exchange, page, error?.status)
}

function rowOf(
  deps: ApprovalPageDeps,
  { actor, request }: PageExchange,
  peers: Peers,
  approval: Approval,
): ApprovalRow {
  const now = deps.now()
  const { messages } = deps.languages.of(request)
  return {
    id: approval.approvalId,
    href: `${deps.basePath}/${actor.id}/www/approvals/${encodeURIComponent(approval.approvalId)}`,
    peer: peers.nameOf(approval.peerId),
    kind: approval.kind,
    operation: approval.operation,
    ...wordsFor(deps, approval),
    asked: momentOf(approval.createdAt, now, messages),
    expires: momentOf(approval.expiresAt, now, messages),
    state: approval.state,
  }
}

export async function decideApproval(
  deps: ApprovalPageDeps,
  exchange: PageExchange & Bodied<Params>,
): Promise<HttpResponse> {
  const { actor, params } = exchange
  const id = params['approval'] ?? ''
  const sent = await exchange.body()
  return refusedOnPage(
    exchange,
    async () => {
      const decision = sent.get('decision')
      if (decision !== 'allow' && decision !== 'refuse') throw formRefusal('the decision is neither allow nor refuse')
      if (!(await deps.approvals.decide(actor.id, id, decision === 'allow' ? 'approved' : 'denied')))
        throw pageRefusal(
          'conflict',
          'Cannot decide this: it was decided already, or it is no longer open',
          ({ approvals }) => approvals.decided,
        )
      return goOn(
        deps,
        exchange,
        sent,
        `/approvals/${encodeURIComponent(id)}`,
        decision === 'allow' ? 'allowed' : 'refused',
      )
    },
    (error) => showApproval(deps, exchange, error),
  )
}
