/** The pages of relationships: the list, the request form, and the page of a peer. */
import type { AuditLogEntry } from '../../audit-log/entry.ts'
import type { ServiceError } from '../../errors.ts'
import { sentenceOf } from '../activity/activity-page.ts'
import { visible } from '../shared/visible.ts'
import { accessTableOf } from './access/access-table.ts'
import { parseQuestion } from '../../permission/explain.ts'
import { keepingGrants, unexpired } from '../../permission/grants.ts'
import { isClient, type PermissionsView } from '../../trust/permissions.ts'
import { type EffectiveRules, mergeRules, type OverrideRules, ruledCategories } from '../../permission/rules.ts'
import type { Messages } from '../languages/language.ts'
import { reachInWords, rightsInWords, verbOf } from '../shared/rights.ts'
import { momentOf } from '../shared/time.ts'
import { answerInWords } from './rights-answer-view.ts'
import type {
  RecentAct,
  AccessReview,
  GrantRow,
  LevelForm,
  OauthClient,
  RightsPreview,
  TrustConnection,
  TrustNewValues,
  TrustPeerValues,
  TrustRow,
  TypedPeer,
} from './values.ts'
import type { Override } from '../../trust/override-store.ts'
import { isConnected, type Trust } from '../../trust/trust.ts'
import { rightsVersion, trustVersion } from '../../trust/trust-version.ts'
import { accessReview, choicesOf, type OwnNames, ownNames } from './access-review.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { pageValues, showPage } from '../shared/page.ts'
import { pagingOf, partOf } from '../shared/paging.ts'
import { type ConnectionsQuery, selectConnections } from './listing.ts'
import { maxInPicture } from './picture.ts'
import { peerName, peersOf, shownText } from '../shared/peer-names.ts'
import { fieldsets, fieldsOf, hiddenFieldsOf, type typedFields } from './rights-form.ts'
import { undelivered } from '../subscriptions/undelivered.ts'
import type { SubscriberSubscription } from '../../replica/subscriber.ts'
import { differences } from './rights-differences.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { trustTypeName, trustRow } from '../shared/trust-rows.ts'
import { mapInTurns } from '../../permission/in-turns.ts'
import type { PeerQuery, RelationshipPageDeps } from './deps.ts'

const rowsOnAPage = 50

export async function showTrusts(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, ConnectionsQuery>,
): Promise<HttpResponse> {
  const { actor, query } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const [values, { trusts, nameOf }] = await Promise.all([
    pageValues(deps, exchange, '/trust'),
    peersOf(deps, actor.id, messages),
  ])
  const custom = await deps.permissions.overridden(actor.id)
  const latestFirst = trusts.toSorted((a, b) => b.lastAccessed - a.lastAccessed || (a.peerId < b.peerId ? -1 : 1))
  const rows = await mapInTurns(latestFirst, (trust) => {
    const { peerId } = trust
    const isCustom = custom.has(peerId) && !deps.relationships.types.isOfMembers(trust.relationship, actor)
    return trustRow(deps, trust, { peer: nameOf(peerId), isCustom }, messages)
  })
  const { selected, ...listing } = selectConnections(rows, query, `${values.actor_www}/trust`, messages)
  const paging = pagingOf(query, selected.length, rowsOnAPage)
  const page = deps.pages.trust({
    ...values,
    // Templates of the reference implementation expect the trailing slash (WIRE-PAGE-01).
    url: `${values.url}/`,
    ...listing,
    trusts: partOf(selected, paging, rowsOnAPage),
    is_group: deps.relationships.types.hasMembers(actor),
    latest: rows.slice(0, maxInPicture),
    connection_count: rows.length,
    waiting: rows.filter(({ standing, peer }) => standing === 'waiting' && !peer.is_app),
    oauth_clients: rows.flatMap(clientOf),
    trust_connections: rows.map(connectionOf),
    paging,
  })
  return showPage(deps, exchange, page)
}

function clientOf(row: TrustRow): OauthClient[] {
  if (row.oauth_client_id === undefined) return []
  return [
    {
      client_id: row.oauth_client_id,
      client_name: shownText(row.client_name ?? ''),
      trust_type: row.relationship,
      created_at: row.created_at,
      status: row.approved ? 'active' : 'inactive',
    },
  ]
}

function connectionOf(row: TrustRow): TrustConnection {
  const { peerid, established_via, created_at, last_connected_at, last_connected_via } = row
  return { peerid, established_via, created_at, last_connected_at, last_connected_via }
}

const nothingTyped = { peer_url: '', trust_type: '', description: '' }

/** The submitted form: refused, under review, or to be edited again after a review. */
interface FilledIn {
  readonly typed: TrustNewValues['typed']
  readonly error?: ServiceError
  readonly review?: AccessReview
}

export async function showTrustNew(
  deps: RelationshipPageDeps,
  exchange: PageExchange,
  filledIn: FilledIn | null = null,
): Promise<HttpResponse> {
  const values = await pageValues(deps, exchange, '/trust/new', filledIn?.error)
  const page = deps.pages.trustNew({
    ...values,
    form_action: `${values.actor_www}/trust/new`,
    form_method: 'post',
    trust_types: choicesOf(deps, deps.languages.of(exchange.request).messages).filter(
      (choice) => !choice.needs_confirmation,
    ),
    default_relationship: deps.config.relationship,
    review: filledIn?.review ?? null,
    typed: filledIn?.typed ?? nothingTyped,
  })
  return showPage(deps, exchange, page, filledIn?.error?.status)
}

/** The submitted rights form: refused, or shown as a preview. */
export interface SentRights {
  readonly fields: ReturnType<typeof typedFields>
  readonly error: ServiceError | null
  /** Null when the form is invalid. */
  readonly override: OverrideRules | null
}

interface PeerAnswer {
  readonly sent: SentRights | null
  readonly error: ServiceError | null
  /** Review of another access level, before it is requested. */
  readonly review: AccessReview | null
  readonly typed: TypedPeer
  /** Whether the access table has its choices. Default: where the address says so. */
  readonly editsAccess: boolean
}

export async function showPeer(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  answered: Partial<PeerAnswer> = {},
): Promise<HttpResponse> {
  const editsAccess = exchange.query.edit === 'access'
  const { sent, error, review, typed, ...asked } = { ...nothingAnswered, editsAccess, ...answered }
  const { actor, params } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const peerId = params['peerid'] ?? ''
  const path = `/trust/${encodeURIComponent(peerId)}`
  const refused = sent?.error ?? error
  const [values, view, profile, [followed], { entries }, subscriptions] = await Promise.all([
    pageValues(deps, exchange, path, refused),
    deps.permissions.require(actor.id, peerId),
    deps.facts.find({ actorId: actor.id, peerId }, 'profile'),
    deps.subscribing.list(actor.id, peerId),
    deps.auditLog.page(actor.id, { caller: peerId, limit: maxRecent }),
    deps.publications.undelivered(actor.id, peerId, maxUndelivered),
  ])
  const { trust, override, effective } = view
  const isApp = isClient(trust)
  const isMember = deps.relationships.types.isOfMembers(trust.relationship, actor)
  const peer = peerName(trust, profile, values.actor_www, messages)
  const account = await ownNames(deps, exchange, isApp)
  const page = deps.pages.trustPeer({
    ...values,
    trust: trustRow(deps, trust, { peer, isCustom: override !== null && !isMember }, messages),
    is_member: isMember,
    profile: profileTexts(profile, deps.config.peerProfileAttributes),
    recent: entries.map((entry) => recentAct(entry, deps.now(), messages)),
    undelivered: undelivered(subscriptions, {
      peers: { nameOf: () => peer },
      now: deps.now(),
      www: values.actor_www,
      messages,
    }),
    followed: followed === undefined ? null : followedHref(values.actor_www, followed),
    rights: rightsInWords(effective, messages, isApp),
    access: await accessTableOf(deps, view, account, values.actor_www),
    edits_access: asked.editsAccess && !isMember,
    reach: reachInWords(trust.relationship, isApp, messages),
    is_editing: sent !== null,
    may: await mayForm(deps, exchange, view, { who: peer.name, isMember }),
    form_action: `${values.actor_www}${path}`,
    version: trustVersion(trust, override),
    rights_version: rightsVersion(trust, override),
    ...(isMember ? noForms : await formsOf(deps, exchange, view, { account, sent, review, typed, who: peer.name })),
    typed,
  })
  return showPage(deps, exchange, page, refused?.status)
}

type RightsForms = Pick<TrustPeerValues, 'fieldsets' | 'preview' | 'approval' | 'grants' | 'level'>

/** The role of a member decides, and the service refuses each of the forms. */
const noForms: RightsForms = { fieldsets: [], preview: null, approval: null, grants: [], level: null }

/** The forms that change the rights of a peer. */
async function formsOf(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  { trust, override }: PermissionsView,
  { account, sent, review, typed, who }: FormsInput,
): Promise<RightsForms> {
  const { messages } = deps.languages.of(exchange.request)
  const base = deps.relationships.effective(trust.relationship, null)
  const own = override?.rules ?? {}
  const fields = sent?.fields ?? fieldsOf(base, own)
  const change = { base, before: own, after: sent?.override ?? {}, fields, isApp: isClient(trust) }
  return {
    fieldsets: await fieldsets(fields, base, account.names, messages),
    preview: hasPreview(sent) ? await previewOf(deps, exchange, change) : null,
    approval: trust.approved ? null : await approvalOf(deps, exchange, trust, override, who),
    grants: grantRows(own, deps.now(), messages),
    level: isConnected(trust) ? levelForm(deps, trust, { chosen: typed.trust_type, review }, messages) : null,
  }
}

interface FormsInput extends Pick<PeerAnswer, 'sent' | 'review' | 'typed'> {
  readonly account: OwnNames
  /** Name of the peer. */
  readonly who: string
}

const nothingAnswered: Omit<PeerAnswer, 'editsAccess'> = {
  sent: null,
  error: null,
  review: null,
  typed: { action: '', confirmation: '', trust_type: '', nickname: '' },
}

/** Acts of the peer on its page. */
const maxRecent = 3
/** Subscriptions of the peer that its page names. */
const maxUndelivered = 3

function recentAct(entry: AuditLogEntry, now: number, messages: Messages): RecentAct {
  return {
    at: momentOf(entry.at, now, messages),
    what: visible(sentenceOf(entry, messages)),
    is_refused: entry.decision === 'refused',
  }
}

function grantRows(rules: OverrideRules, now: number, messages: Messages): readonly GrantRow[] {
  return ruledCategories.flatMap((category) =>
    (unexpired(rules, now)[category]?.grants ?? []).map(({ pattern, operations, until }) => ({
      category,
      subject: messages.subjects[category],
      pattern,
      may: messages.rights.verbs(operations.map((operation) => verbOf(operation, messages))),
      ends: until === undefined ? null : momentOf(until, now, messages),
    })),
  )
}

function followedHref(www: string, { peerId, subscriptionId }: SubscriberSubscription): string {
  return `${www}/subscriptions/${encodeURIComponent(peerId)}/${encodeURIComponent(subscriptionId)}`
}

/** Whether to preview the rights: also in a conflict with newer rights, but not when they are invalid. */
function hasPreview(sent: SentRights | null): sent is SentRights {
  return sent !== null && (sent.error === null || sent.error.code === 'conflict')
}

function approvalOf(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  trust: Trust,
  override: Override | null,
  who: string,
): Promise<AccessReview> {
  const { relationship } = trust
  const fields = { action: 'approve', version: trustVersion(trust, override) }
  return accessReview(deps, exchange, { who, relationship, override, isApp: isClient(trust), fields })
}

function levelForm(
  deps: RelationshipPageDeps,
  { relationship }: Trust,
  { chosen, review }: Pick<LevelForm, 'chosen' | 'review'>,
  messages: Messages,
): LevelForm {
  return { choices: choicesOf(deps, messages).filter(({ name }) => name !== relationship), chosen, review }
}

async function previewOf(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  change: {
    base: EffectiveRules
    before: OverrideRules
    after: OverrideRules
    fields: SentRights['fields']
    isApp: boolean
  },
): Promise<RightsPreview> {
  const { base, before, after, fields, isApp } = change
  const [now, then] = [mergeRules(base, before), mergeRules(base, keepingGrants(before, after))]
  const { messages } = deps.languages.of(exchange.request)
  return {
    lines: rightsInWords(then, messages, isApp),
    ...(await differences(now, then, await ownNames(deps, exchange, isApp), messages)),
    fields: hiddenFieldsOf(fields),
  }
}

/** Returns the profile of a peer as strings, marked as the peer's own words. */
function profileTexts(profile: unknown, attributes: readonly string[]): readonly (readonly [string, string])[] {
  if (typeof profile !== 'object' || profile === null) return []
  const found = new Map(Object.entries(profile))
  return attributes.flatMap((name) => {
    const value: unknown = found.get(name)
    return typeof value === 'string' && value !== '' ? [[name, shownText(value)] as const] : []
  })
}

async function mayForm(
  deps: RelationshipPageDeps,
  { query, request }: PageExchange<string, PeerQuery>,
  view: PermissionsView,
  { who, isMember }: { readonly who: string; readonly isMember: boolean },
): Promise<TrustPeerValues['may']> {
  const { ask, target } = query
  const question = ask === undefined || target === undefined ? null : parseQuestion(`${ask}:${target}`)
  const level = trustTypeName(deps.relationships.types, view.trust.relationship)
  const { messages } = deps.languages.of(request)
  return {
    ask: ask ?? 'properties.read',
    target: target ?? '',
    answer:
      question === null
        ? null
        : answerInWords(await deps.permissions.answer(view, question), { who, level, isMember }, messages),
  }
}
