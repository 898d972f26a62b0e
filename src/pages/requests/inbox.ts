/** Reads and shows the inbox. */
import type { AuditLog } from '../../audit-log/audit-log.ts'
import type { AuditLogEntry } from '../../audit-log/entry.ts'
import type { Config } from '../../config/options.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { optional, stringField, type ValuesOf } from '../../json/fields.ts'
import type { Approvals } from '../../operation/approvals.ts'
import type { Publications } from '../../publication/publications.ts'
import type { Relationships } from '../../trust/relationships.ts'
import { isRequest } from '../../trust/trust.ts'
import { sentenceOf } from '../activity/activity-page.ts'
import { shownDevice } from '../apps/apps-page.ts'
import type { Messages } from '../languages/language.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { peerAtThatTime, type Peers, peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import { momentOf } from '../shared/time.ts'
import { trustTypeName } from '../shared/trust-rows.ts'
import type { View } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'
import { undelivered } from '../subscriptions/undelivered.ts'
import { approvalRow } from './approval-pages.ts'
import type { ApprovalWordsDeps } from '../../mcp/approval-words.ts'
import type { DecisionRow, RequestsValues } from './values.ts'

export interface InboxDeps extends PageDeps, PeerNameDeps, ApprovalWordsDeps {
  readonly approvals: Approvals
  readonly auditLog: AuditLog
  readonly publications: Publications
  readonly relationships: Relationships
  readonly config: Pick<Config, 'activityPerActor'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly requests: View<RequestsValues>
  }
}

const decisionsOnAPage = 25
/** Maximum number of failing subscriptions that the inbox names. */
const maxFailures = 20

export const inboxQuery = { cursor: optional(stringField('Of the link to older decisions')) }

export async function showRequests(
  deps: InboxDeps,
  exchange: PageExchange<string, ValuesOf<typeof inboxQuery>>,
): Promise<HttpResponse> {
  const { actor, query, request } = exchange
  const { messages } = deps.languages.of(request)
  const cursor = query.cursor ?? null
  const [values, peers, waiting, subscriptions, { entries, next }] = await Promise.all([
    pageValues(deps, exchange, '/requests'),
    peersOf(deps, actor.id, messages),
    deps.approvals.waiting(actor.id),
    deps.publications.undelivered(actor.id, null, maxFailures),
    deps.auditLog.decisions(actor.id, cursor, decisionsOnAPage),
  ])
  const now = deps.now()
  const page = deps.pages.requests({
    ...values,
    connections: peers.trusts.filter(isRequest).map((trust) => ({
      peer: peers.nameOf(trust.peerId),
      relationship_name: trustTypeName(deps.relationships.types, trust.relationship),
      message: visible(trust.description),
      asked: momentOf(trust.createdAt, now, messages),
    })),
    approvals: waiting.map((approval) => approvalRow(deps, exchange, peers, approval)),
    failures: undelivered(subscriptions, { peers, now, www: values.actor_www, messages }),
    decisions: entries.map((entry) => decisionRow(entry, { peers, now, messages })),
    older_href: next === null ? null : `${values.actor_www}/requests?cursor=${encodeURIComponent(next)}`,
    is_first: cursor === null,
    is_off: deps.config.activityPerActor === 0,
  })
  return showPage(deps, exchange, page)
}

function decisionRow(
  entry: AuditLogEntry,
  { peers, now, messages }: { readonly peers: Peers; readonly now: number; readonly messages: Messages },
): DecisionRow {
  return {
    peer: peerAtThatTime(peers, entry),
    what: visible(sentenceOf(entry, messages)),
    is_approved: entry.decision === 'approved',
    at: momentOf(entry.at, now, messages),
    device: entry.device === '' ? '' : shownDevice(entry, messages),
  }
}
