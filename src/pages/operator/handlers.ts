/** Handlers of the pages of operators. */
import type { QuotaUse } from '../../quota/quota.ts'
import { quotaRows } from '../settings/quotas.ts'
import type { ActorPlace } from '../../actor/actor-store.ts'
import type { ValuesOf } from '../../json/fields.ts'
import { hintField, optional, stringField } from '../../json/fields.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import { type FlashMessage, noticeCookie } from '../../http/dispatch/flash-messages.ts'
import type { OperatorExchange } from '../../http/dispatch/route.ts'
import { acceptsPages } from '../../http/edge/accepts.ts'
import { sourceOf } from '../../http/edge/client-address.ts'
import type { Params } from '../../http/edge/params.ts'
import { type HttpResponse, redirect } from '../../http/edge/response.ts'
import { ServiceError } from '../../errors.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { maxCounted } from '../../operator/actor-list.ts'
import type { ActorOrder } from '../../operator/actor-ranking.ts'
import type { FailingDelivery } from '../../operator/delivery-list.ts'
import type { AccountActs } from '../../operator/account-acts.ts'
import type { OperatorAct } from '../../operator/act-entry.ts'
import type { ReportedActor, Reports } from '../../operator/reports.ts'
import type { ServiceStateReport, StateFinding } from '../../operator/service-state.ts'
import { release } from '../../release.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import type { Continued } from '../../runtime.ts'
import type { Messages } from '../languages/language.ts'
import { showPage } from '../shared/page.ts'
import { errorText, explained, pageRefusal } from '../shared/error-text.ts'
import { formRefusal } from '../shared/refused-on-page.ts'
import { restoredDataOf } from '../activity/restored-data.ts'
import { type Moment, momentOf } from '../shared/time.ts'
import type { View } from '../shared/values.ts'
import { type OperatorValuesDeps, operatorValuesOf } from './operator-values.ts'
import { shownText } from '../shared/peer-names.ts'
import { visible } from '../shared/visible.ts'
import type {
  FailingDeliveryRow,
  ListedActorRow,
  OperatorActorsValues,
  OperatorActorValues,
  OperatorDeliveriesValues,
  OperatorProgramsValues,
  OperatorStatusValues,
} from './values.ts'

export interface OperatorPageDeps extends OperatorValuesDeps {
  readonly reports: Reports
  readonly metrics: Pick<Metrics, 'summary'>
  readonly keyRing: KeyRing
  readonly accountActs: AccountActs
  readonly quotaUses: (actorId: string) => Promise<readonly QuotaUse[]>
  readonly continued: Continued | null
  readonly pages: {
    readonly operatorStatus: View<OperatorStatusValues>
    readonly operatorActors: View<OperatorActorsValues>
    readonly operatorActor: View<OperatorActorValues>
    readonly operatorDeliveries: View<OperatorDeliveriesValues>
    readonly operatorPrograms: View<OperatorProgramsValues>
  }
}

export const actorsQuery = {
  search: optional(stringField('Beginning of a creator, or the id of an actor')),
  before: optional(stringField('Of the link to older actors')),
  sort: hintField('`size`: the largest first; `activity`: the busiest first', ['size', 'activity']),
}

/** Failing deliveries that the status page shows. */
const failuresOfStatus = 10
const actorOrders: readonly ActorOrder[] = ['size', 'activity']

export const programsQuery = { after: optional(stringField('Of the link to the next programs')) }

type Exchange<P extends string = string, Q = unknown> = OperatorExchange<P, Q>

export async function showStatus(deps: OperatorPageDeps, exchange: Exchange): Promise<HttpResponse> {
  const { metrics, reports, keyRing } = deps
  const [summary, backlog, state, failures] = await Promise.all([
    metrics.summary(),
    reports.backlog(),
    reports.state(),
    reports.failures(failuresOfStatus),
  ])
  const { slowHosts, ...counted } = summary
  const values = operatorValuesOf(deps, exchange)
  const { messages } = deps.languages.of(exchange.request)
  const momentAt = moments(deps, exchange)
  const startedAt = deps.now() - Math.floor(process.uptime() * 1000)
  return showPage(
    deps,
    exchange,
    deps.pages.operatorStatus({
      ...values,
      ...counted,
      version: release,
      node: process.versions.node,
      store: reports.database.dialect,
      is_sharded: reports.database.isSharded,
      restored: restoredDataOf(deps.continued, deps.now(), messages),
      ...stateValues(state, { momentAt, messages }),
      started: momentAt(startedAt),
      memory: process.memoryUsage.rss(),
      current_key: keyRing.currentId,
      older_keys: [...keyRing.keys.keys()].filter((id) => id !== keyRing.currentId),
      median: milliseconds(summary.median),
      slowest: milliseconds(summary.slowest),
      backlog,
      failing: deliveryRows(failures.deliveries, values.root, momentAt),
      slow_hosts: slowHosts.map(({ host, seconds, calls }) => ({ host: visible(host), ms: seconds * 1000, calls })),
    }),
  )
}

function stateValues(
  { findings, processes, usage, backupAt, work }: ServiceStateReport,
  { momentAt, messages }: { readonly momentAt: (ms: number) => Moment; readonly messages: Messages },
): Pick<
  OperatorStatusValues,
  'findings' | 'processes' | 'database_bytes' | 'free_bytes' | 'backup' | 'has_backups' | 'work'
> {
  return {
    findings: findings.map((finding) => findingText(finding, momentAt, messages)),
    processes: processes.map(({ release: version, host, startedAt, seenAt, isSilent }) => ({
      version,
      host: visible(host),
      started: momentAt(startedAt),
      seen: momentAt(seenAt),
      is_silent: isSilent,
    })),
    database_bytes: usage.bytes,
    free_bytes: usage.freeBytes,
    backup: typeof backupAt === 'number' ? momentAt(backupAt) : null,
    has_backups: backupAt !== 'off',
    work,
  }
}

function findingText(finding: StateFinding, momentAt: (ms: number) => Moment, messages: Messages): string {
  const { findings: words } = messages.operator
  switch (finding.kind) {
    case 'otherAddress':
      return words.otherAddress(visible(finding.known))
    case 'lateBackup':
      return words.lateBackup(finding.everyHours)
    case 'fullDisk':
      return words.fullDisk(finding.freeBytes)
    case 'silentProcess':
      return words.silentProcess(finding.hosts.map(visible))
    case 'severalReleases':
      return words.severalReleases(finding.releases)
    case 'waitingMail':
      return words.waitingMail(momentAt(finding.since).words)
    default:
      return words[finding.kind]
  }
}

function milliseconds(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000
}

export async function showActors(
  deps: OperatorPageDeps,
  exchange: Exchange<string, ValuesOf<typeof actorsQuery>>,
): Promise<HttpResponse> {
  const { query } = exchange
  const search = (query.search ?? '').trim()
  const before = placeOf(query.before ?? '')
  const values = operatorValuesOf(deps, exchange)
  const address = `${values.root}/actors`
  const orders = actorOrders.map((name) => ({ name, href: `${address}?sort=${name}`, is_current: name === query.sort }))
  const all = { name: 'newest' as const, href: address, is_current: query.sort === undefined && search === '' }
  const shown = { ...values, search, orders: [all, ...orders] }
  const momentAt = moments(deps, exchange)
  if (search === '' && query.sort !== undefined) {
    const { actors: ranked, countedAt, isCounting } = await deps.reports.ranked(query.sort)
    const rows = ranked.map((actor) => ({ ...actorRow(actor, address, momentAt), amount: actor.amount }))
    const counted = countedAt === null ? null : momentAt(countedAt)
    const order = { actors: rows, sort: query.sort, counted, is_counting: isCounting }
    const page = { ...shown, ...order, is_cut: false, older_href: null, newest_href: null }
    return showPage(deps, exchange, deps.pages.operatorActors(page))
  }
  const { actors, next, isCut } = await deps.reports.actors(search, before)
  return showPage(
    deps,
    exchange,
    deps.pages.operatorActors({
      ...shown,
      actors: actors.map((actor) => ({ ...actorRow(actor, address, momentAt), amount: null })),
      sort: null,
      counted: null,
      is_counting: false,
      is_cut: isCut,
      older_href: next === null ? null : `${address}?before=${next.createdAt}.${next.id}`,
      newest_href: before === null ? null : address,
    }),
  )
}

/** The place of a link to older actors. Null for every other text. */
function placeOf(text: string): ActorPlace | null {
  const [, createdAt, id] = /^(\d{1,15})\.([\w-]{1,128})$/.exec(text) ?? []
  return createdAt === undefined || id === undefined ? null : { createdAt: Number(createdAt), id }
}

function actorRow(
  { id, creator, createdAt, facts }: ReportedActor,
  address: string,
  momentAt: (ms: number) => Moment,
): Omit<ListedActorRow, 'amount'> {
  const { values = 0, items = 0, bytes = 0, fileBytes = 0, relationships = 0, lastUsedAt = null } = facts ?? {}
  return {
    id,
    creator: shownText(creator),
    href: `${address}/${id}`,
    created: momentAt(createdAt),
    last_used: lastUsedAt === null ? null : momentAt(lastUsedAt),
    values,
    items,
    bytes,
    file_bytes: fileBytes,
    relationships,
    is_partial: [values, items, relationships].includes(maxCounted),
  }
}

export async function showOperatedActor(
  deps: OperatorPageDeps,
  exchange: Exchange<'id'>,
  shown: { readonly link?: string; readonly refused?: ServiceError } = {},
): Promise<HttpResponse> {
  const { link = null, refused = null } = shown
  const facts = await deps.reports.actor(exchange.params.id, actOf(exchange))
  const uses = await deps.quotaUses(facts.id)
  const momentAt = moments(deps, exchange)
  const values = operatorValuesOf(deps, exchange)
  return showPage(
    deps,
    exchange,
    deps.pages.operatorActor({
      ...values,
      id: facts.id,
      creator: shownText(facts.creator),
      is_suspended: facts.isSuspended,
      is_own: facts.id === exchange.operator.actorId,
      is_proven: facts.isProven,
      created: momentAt(facts.createdAt),
      last_used: facts.lastUsedAt === null || facts.lastUsedAt === 0 ? null : momentAt(facts.lastUsedAt),
      basic_used: facts.basicUsedAt === null ? null : momentAt(facts.basicUsedAt),
      values: facts.properties.count,
      value_bytes: facts.properties.bytes,
      lists: facts.lists.count,
      items: facts.lists.items,
      list_bytes: facts.lists.bytes,
      relationships: facts.relationships.count,
      subscribers: facts.subscriptions.ofPeers,
      subscribed: facts.subscriptions.toPeers,
      sessions: facts.sessions.count,
      quotas: quotaRows(uses),
      sign_in_link: link,
      error_field: refused === null ? null : (refused.detail.field ?? null),
      error: refused === null ? null : errorText(refused, deps.languages.of(exchange.request)),
      form_action: `${values.root}/actors/${facts.id}`,
    }),
    refused?.status,
  )
}

export async function changeActor(
  deps: OperatorPageDeps,
  exchange: Exchange<'id'> & Bodied<Params>,
): Promise<HttpResponse> {
  const sent = await exchange.body()
  const { id } = exchange.params
  const action = sent.get('action')
  const by = { ...exchange.operator, device: exchange.device }
  if (action === 'sign_in_link')
    return showOperatedActor(deps, exchange, { link: await deps.accountActs.signInLink(id, by) })
  if (action === 'reset_limits' || action === 'delete') {
    try {
      await actOnAccount(deps, { id, by, action, sent })
    } catch (error) {
      const isShown =
        error instanceof ServiceError && error.detail.field !== undefined && acceptsPages(exchange.request)
      if (!isShown) throw error
      return showOperatedActor(deps, exchange, { refused: error })
    }
    const [path, done] =
      action === 'delete' ? ['', 'accountOfOwnerDeleted' as const] : [`/${id}`, 'limitsReset' as const]
    return { ...redirect(302, `${deps.baseUrl}/admin/actors${path}`), cookies: [noticeCookie(done)] }
  }
  const notice = await act(deps, exchange, action)
  return { ...redirect(302, `${deps.baseUrl}/admin/actors/${id}`), cookies: [noticeCookie(notice)] }
}

/** @throws ServiceError `bad_request` with the field that is wrong */
async function actOnAccount(
  { accountActs }: OperatorPageDeps,
  {
    id,
    by,
    action,
    sent,
  }: {
    readonly id: string
    readonly by: Parameters<AccountActs['delete']>[2]
    readonly action: 'reset_limits' | 'delete'
    readonly sent: Params
  },
): Promise<void> {
  if (action === 'delete') {
    await explaining(
      accountActs.delete(id, sent.get('confirmation') ?? '', by),
      ({ operator }) => operator.confirmationWrong,
    )
    return
  }
  const typed = (sent.get('sender') ?? '').trim()
  const source = typed === '' ? null : sourceOf({ header: () => undefined, remoteAddress: typed }, 0)
  if (typed !== '' && source === null)
    throw pageRefusal(
      'bad_request',
      'Enter an IP address, or leave it empty.',
      ({ operator }) => operator.senderInvalid,
      {
        field: 'sender',
      },
    )
  await accountActs.resetLimits(id, by, source)
}

/** Adds the words of pages to the refusal of a field. */
async function explaining(work: Promise<void>, words: (messages: Messages) => string): Promise<void> {
  try {
    await work
  } catch (error) {
    throw error instanceof ServiceError && error.detail.field !== undefined ? explained(error, words) : error
  }
}

async function act(
  { reports }: OperatorPageDeps,
  exchange: Exchange<'id'>,
  action: string | undefined,
): Promise<FlashMessage> {
  const { id } = exchange.params
  const by = actOf(exchange)
  switch (action) {
    case 'redrive':
      await reports.redrive(id, by)
      return 'redriven'
    case 'suspend':
      await reports.suspend(id, by, exchange.operator.actorId)
      return 'actorSuspended'
    case 'resume':
      await reports.resume(id, by)
      return 'actorResumed'
    case 'sign_out':
      await reports.signOut(id, by)
      return 'signedOutEverywhere'
    default:
      throw formRefusal('the action is unknown')
  }
}

export async function showDeliveries(deps: OperatorPageDeps, exchange: Exchange): Promise<HttpResponse> {
  const { deliveries, work, isCut } = await deps.reports.failures()
  const momentAt = moments(deps, exchange)
  const values = operatorValuesOf(deps, exchange)
  return showPage(
    deps,
    exchange,
    deps.pages.operatorDeliveries({
      ...values,
      deliveries: deliveryRows(deliveries, values.root, momentAt),
      work: work.map(({ actorId, kind, failingSince }) => ({
        actor: actorId,
        actor_href: `${values.root}/actors/${actorId}`,
        kind,
        since: failingSince === null ? null : momentAt(failingSince),
      })),
      is_cut: isCut,
    }),
  )
}

function deliveryRows(
  deliveries: readonly FailingDelivery[],
  root: string,
  momentAt: (ms: number) => Moment,
): readonly FailingDeliveryRow[] {
  return deliveries.map(({ actorId, baseuri, isStopped, failingSince, attempts, reason }) => ({
    actor: actorId,
    actor_href: `${root}/actors/${actorId}`,
    host: visible(URL.parse(baseuri)?.host ?? baseuri),
    is_stopped: isStopped,
    since: failingSince === null ? null : momentAt(failingSince),
    attempts,
    reason: visible(reason),
  }))
}

export async function showPrograms(
  deps: OperatorPageDeps,
  exchange: Exchange<string, ValuesOf<typeof programsQuery>>,
): Promise<HttpResponse> {
  const { after = '' } = exchange.query
  const { programs, next } = await deps.reports.programs(after)
  const momentAt = moments(deps, exchange)
  const values = operatorValuesOf(deps, exchange)
  return showPage(
    deps,
    exchange,
    deps.pages.operatorPrograms({
      ...values,
      programs: programs.map(({ clientId, name, connections, lastUsedAt }) => ({
        name: shownText(name ?? '') || visible(URL.parse(clientId)?.host ?? clientId),
        client_id: visible(clientId),
        connections,
        last_used: momentAt(lastUsedAt),
      })),
      next_href: next === null ? null : `${values.root}/apps?after=${encodeURIComponent(next)}`,
      is_first: after === '',
    }),
  )
}

function actOf({ operator, device }: Exchange): OperatorAct {
  return { operator: operator.name, device }
}

function moments(deps: OperatorPageDeps, { request }: Exchange): (ms: number) => Moment {
  const { messages } = deps.languages.of(request)
  const now = deps.now()
  return (ms) => momentOf(ms, now, messages)
}
