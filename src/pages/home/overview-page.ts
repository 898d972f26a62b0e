/** The overview of an actor: reads its values, and shows them. */
import type { AuditLog } from '../../audit-log/audit-log.ts'
import type { Clients } from '../../authorization-server/clients.ts'
import type { Config } from '../../config/options.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import type { Actors } from '../../actor/actors.ts'
import type { Approvals } from '../../operation/approvals.ts'
import type { Access } from '../../property/access.ts'
import { holdsItems } from '../../property/kinds.ts'
import type { Properties } from '../../property/properties.ts'
import type { Publications } from '../../publication/publications.ts'
import type { Chain } from '../../token/chain.ts'
import type { Sessions } from '../../token/sessions.ts'
import type { Tokens } from '../../token/tokens.ts'
import { isProgram, isRequest } from '../../trust/trust.ts'
import { wordsFor, type ApprovalWordsDeps } from '../../mcp/approval-words.ts'
import { shownDevice } from '../apps/apps-page.ts'
import { onNewDevices } from '../apps/new-devices.ts'
import type { Messages } from '../languages/language.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import { momentOf } from '../shared/time.ts'
import type { View } from '../shared/values.ts'
import { undelivered } from '../subscriptions/undelivered.ts'
import { type AccessMapDeps, accessMapOf, mapDataOf, type MapDatum, maxMapped } from './map-values.ts'
import type { ActivityDay, DashboardValues } from './values.ts'

export interface OverviewDeps extends PageDeps, PeerNameDeps, ApprovalWordsDeps, AccessMapDeps {
  readonly actors: Actors
  readonly properties: Properties
  readonly approvals: Approvals
  readonly publications: Publications
  readonly sessions: Sessions
  readonly tokens: Pick<Tokens, 'clientsOf'>
  readonly clients: Pick<Clients, 'registered'>
  readonly auditLog: AuditLog
  readonly config: Pick<Config, 'activityPerActor' | 'mcp'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly dashboard: View<DashboardValues>
  }
}

/** Maximum number of pending items that the overview names. */
const maxNamed = 10
const maxUndelivered = 3
const activityDays = 14

export async function showOverview(deps: OverviewDeps, exchange: PageExchange): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const [values, { peers, properties, approvals, sessions, chains, subscriberCount, failing, days }] =
    await Promise.all([pageValues(deps, exchange, ''), read(deps, exchange)])
  const asking = peers.trusts.filter(isRequest)
  const apps = peers.trusts.filter(isProgram)
  const lastUsed = Math.max(
    ...apps.map(({ lastAccessed }) => lastAccessed),
    ...chains.map(({ lastUsedAt }) => lastUsedAt),
  )
  const current = caller.kind === 'creator' ? caller.session : undefined
  const page = deps.pages.dashboard({
    ...values,
    passphrase: deps.freshSignIn.isFresh(caller) ? deps.actors.passphraseOf(actor) : '',
    property_count: properties.total - properties.lists,
    list_count: properties.lists,
    relationship_count: peers.trusts.length,
    app_count: apps.length,
    app_last_used: apps.length === 0 ? null : momentOf(lastUsed, deps.now(), messages),
    device_count: sessions.length,
    device: thisDevice(sessions, current, messages),
    new_devices: onNewDevices(sessions, current, deps.now()).map((chain) => ({
      device: shownDevice(chain, messages),
      began: momentOf(chain.createdAt, deps.now(), messages),
    })),
    waiting: [
      ...(values.password_count === 0
        ? []
        : [{ text: messages.home.programCreated, href: `${values.actor_www}/password-access` }]),
      ...approvals.map((approval) => ({
        text: messages.home.asksToRun(peers.nameOf(approval.peerId).name, wordsFor(deps, actor, approval).title),
        href: `${values.actor_www}/approvals/${encodeURIComponent(approval.approvalId)}`,
      })),
      ...asking.map(({ peerId }) => {
        const { name, host, href } = peers.nameOf(peerId)
        return { text: messages.home.wantsToConnect(name, host), href }
      }),
    ].slice(0, maxNamed),
    subscriber_count: subscriberCount,
    undelivered: undelivered(failing, { peers, now: deps.now(), www: values.actor_www, messages }),
    access_map: await accessMapOf(
      deps,
      { access: { actor, caller }, www: values.actor_www, messages },
      { peers, properties: properties.mapped, total: properties.total, chains },
    ),
    activity: days,
    mcp_url: deps.config.mcp ? `${deps.baseUrl}/mcp` : '',
  })
  return showPage(deps, exchange, page)
}

async function read(deps: OverviewDeps, { actor, caller, request }: PageExchange) {
  const { messages } = deps.languages.of(request)
  const [peers, properties, approvals, sessions, chains, subscriberCount, failing, days] = await Promise.all([
    peersOf(deps, actor.id, messages),
    readProperties(deps, { actor, caller }),
    deps.approvals.waiting(actor.id),
    deps.sessions.list(actor.id),
    deps.tokens.clientsOf(actor.id),
    deps.publications.count(actor.id),
    deps.publications.undelivered(actor.id, null, maxUndelivered),
    activityOf(deps, actor.id, messages),
  ])
  return { peers, properties, approvals, sessions, chains, subscriberCount, failing, days }
}

/** The number of properties, and those from which the map chooses. */
async function readProperties({ properties }: OverviewDeps, access: Access) {
  const mapped: MapDatum[] = []
  let total = 0
  let lists = 0
  for await (const page of properties.namePages(access, { contents: 'short' })) {
    total += page.length
    lists += page.filter(({ kind }) => holdsItems(kind)).length
    mapped.push(...page.slice(0, maxMapped - mapped.length).map(mapDataOf))
  }
  return { total, lists, mapped }
}

async function activityOf(
  { auditLog, config }: OverviewDeps,
  actorId: string,
  { time }: Messages,
): Promise<readonly ActivityDay[] | null> {
  if (config.activityPerActor === 0) return null
  const days = await auditLog.daily(actorId, activityDays)
  return days.map(({ start, requests, denied }) => {
    const date = new Date(start)
    return { day: date.toISOString().slice(0, 10), words: time.date(date), requests, denied }
  })
}

function thisDevice(sessions: readonly Chain[], current: string | undefined, messages: Messages): string | null {
  const chain = sessions.find(({ chainId }) => chainId === current)
  return chain === undefined ? null : shownDevice(chain, messages)
}
