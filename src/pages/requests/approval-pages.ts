/** The page of a call that waits for approval, and its form. */
import type { ServiceError } from '../../errors.ts'
import { fromPlain } from '../../json/json.ts'
import type { Approval, Approvals } from '../../operation/approvals.ts'
import type { Operations } from '../../operation/operations.ts'
import type { ApprovalRow, ApprovalValues } from './values.ts'
import { momentOf } from '../shared/time.ts'
import { wholeTreeOf } from '../shared/value-tree.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import {
  argumentTitles,
  type ApprovalWordsDeps,
  namedByCaller,
  previewFor,
  wordsFor,
} from '../../mcp/approval-words.ts'
import { goOn, pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { type Peers, peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { Params } from '../../http/edge/params.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { View } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'

export interface ApprovalPageDeps extends PageDeps, PeerNameDeps, ApprovalWordsDeps {
  readonly approvals: Approvals
  readonly operations: Pick<Operations, 'preview'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly approval: View<ApprovalValues>
  }
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
  const [values, preview] = await Promise.all([
    pageValues(deps, exchange, path, error),
    previewFor(deps, actor, approval),
  ])
  const page = deps.pages.approval({
    ...values,
    approval: approvalRow(deps, exchange, peers, approval),
    arguments: wholeTreeOf(fromPlain(approval.arguments)),
    undeclared_arguments: namedByCaller(deps, actor, approval).map(visible),
    preview: preview === null || preview === 'failed' ? null : visible(preview.text),
    has_preview_failed: preview === 'failed',
    argument_titles: Object.fromEntries(argumentTitles(wordsFor(deps, actor, approval))),
    form_action: `${values.actor_www}${path}`,
  })
  return showPage(deps, exchange, page, error?.status)
}

export function approvalRow(
  deps: ApprovalWordsDeps & Pick<ApprovalPageDeps, 'basePath' | 'languages' | 'now'>,
  { actor, request }: PageExchange,
  peers: Peers,
  approval: Approval,
): ApprovalRow {
  const now = deps.now()
  const { messages } = deps.languages.of(request)
  const { title, description, isDestructive } = wordsFor(deps, actor, approval)
  return {
    id: approval.approvalId,
    href: `${deps.basePath}/${actor.id}/www/approvals/${encodeURIComponent(approval.approvalId)}`,
    peer: peers.nameOf(approval.peerId),
    kind: approval.kind,
    operation: approval.operation,
    title,
    description,
    is_destructive: isDestructive,
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
