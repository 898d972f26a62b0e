/** The pages of subscriptions in both directions, and their forms. */
import type { Params } from '../../http/edge/params.ts'
import { ServiceError } from '../../errors.ts'
import { endSubscription } from '../../replica/unsubscribe.ts'
import type { Backlog } from '../../publication/backlog-store.ts'
import type { TimelineEntry } from '../../publication/diff-store.ts'
import type { PublisherSubscription } from '../../publication/publisher-subscription.ts'
import { deliversCallbacks, type Scope } from '../../subscription/scope.ts'
import type { SubscriberSubscription } from '../../replica/subscriber.ts'
import { momentOf } from '../shared/time.ts'
import type { SubscriptionRow, TimelineRow, SubscriptionsValues, SubscriptionValues } from './values.ts'
import { visible } from '../shared/visible.ts'
import { count } from '../shared/plural.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { goOn, pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { pagingOf, partOf, type PartQuery } from '../shared/paging.ts'
import { type Peers, peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { seenList, seenValue } from '../shared/seen-property.ts'
import type { Publications } from '../../publication/publications.ts'
import type { Subscribing } from '../../replica/subscribing.ts'
import type { View } from '../shared/values.ts'

export interface SubscriptionPageDeps extends PageDeps, PeerNameDeps {
  readonly publications: Publications
  readonly subscribing: Subscribing
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly subscriptions: View<SubscriptionsValues>
    readonly subscription: View<SubscriptionValues>
  }
}

const rowsOnAPage = 50
const numbersOnAPage = 50
const namesOnAPage = 50

export async function showSubscriptions(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, PartQuery>,
): Promise<HttpResponse> {
  const { actor, query } = exchange
  const [peers, publisherSide, subscriberSide] = await Promise.all([
    peersOf(deps, actor.id),
    deps.publications.listWithBacklogs(actor.id),
    deps.subscribing.list(actor.id),
  ])
  const paging = pagingOf(query, publisherSide.length, rowsOnAPage)
  const page = deps.pages.subscriptions({
    ...pageValues(deps, exchange, '/subscriptions'),
    listeners: partOf(publisherSide, paging, rowsOnAPage).map(({ subscription, backlog }) =>
      publisherRow(deps, exchange, peers, subscription, backlog),
    ),
    paging,
    listening: subscriberSide.slice(0, 200).map((each) => subscriberRow(deps, exchange, peers, each)),
  })
  return showPage(exchange, page)
}

export async function showSubscription(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, PartQuery>,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const { actor, params, query } = exchange
  const address = { actorId: actor.id, peerId: params['peerid'] ?? '', subscriptionId: params['subscription'] ?? '' }
  const [peers, found, subscriberSide] = await Promise.all([
    peersOf(deps, actor.id),
    deps.publications.timeline(address),
    deps.subscribing.list(actor.id, address.peerId),
  ])
  const own = subscriberSide.find(({ subscriptionId }) => subscriptionId === address.subscriptionId)
  const now = deps.now()
  const path = `/subscriptions/${encodeURIComponent(address.peerId)}/${encodeURIComponent(address.subscriptionId)}`
  const values = pageValues(deps, exchange, path, error)
  const entries = (found?.entries ?? []).map((entry) => timelineRow(entry, now))
  const paging = pagingOf(query, entries.length, numbersOnAPage)
  const common = { ...values, paging, form_action: `${values.actor_www}${path}` }
  if (found !== null) {
    const page = deps.pages.subscription({
      ...common,
      subscription: publisherRow(deps, exchange, peers, found.subscription, found.backlog),
      is_own: false,
      known: [],
      entries: partOf(entries, paging, numbersOnAPage),
      failed: found.backlog?.failed ?? 0,
    })
    return showPage(exchange, page, error?.status)
  }
  if (own === undefined) throw new ServiceError('not_found', 'The subscription does not exist')
  const remote = await deps.subscribing.known(actor.id, address.peerId)
  const known = [...remote].filter(([name]) => own.subtarget === '' || own.subtarget === name)
  const namePaging = pagingOf(query, known.length, namesOnAPage)
  const page = deps.pages.subscription({
    ...common,
    paging: namePaging,
    subscription: subscriberRow(deps, exchange, peers, own),
    is_own: true,
    known: partOf(known, namePaging, namesOnAPage).map(([name, each]) =>
      each.kind === 'value'
        ? seenValue(name, each.value, [])
        : seenList(name, { length: each.items.length, items: each.items }, []),
    ),
    entries: [],
    failed: 0,
  })
  return showPage(exchange, page, error?.status)
}

export async function changeSubscription(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, PartQuery> & Bodied<Params>,
): Promise<HttpResponse> {
  const { actor, params } = exchange
  const address = { peerId: params['peerid'] ?? '', subscriptionId: params['subscription'] ?? '' }
  const sent = await exchange.body()
  return refusedOnPage(
    exchange,
    async () => {
      switch (sent.get('action')) {
        case 'end':
          if (!(await endSubscription(deps, actor, address, 'owner'))) throw gone()
          return goOn(deps, exchange, sent, '/subscriptions', 'ended')
        case 'redrive':
          if ((await deps.publications.redrive({ actorId: actor.id, ...address })) === null) throw gone()
          return goOn(
            deps,
            exchange,
            sent,
            `/subscriptions/${encodeURIComponent(address.peerId)}/${encodeURIComponent(address.subscriptionId)}`,
            'redriven',
          )
        default:
          throw formRefusal('the action is neither end nor redrive')
      }
    },
    (error) => showSubscription(deps, exchange, error),
  )
}

function gone(): ServiceError {
  return new ServiceError('not_found', 'The subscription no longer exists')
}

type Common = Omit<SubscriptionRow, 'state' | 'is_in_order'>

function commonRow(
  deps: SubscriptionPageDeps,
  { actor }: PageExchange<string, PartQuery>,
  peers: Peers,
  subscription: PublisherSubscription | SubscriberSubscription,
  how: string,
): Common {
  const { peerId, subscriptionId, sequence, createdAt } = subscription
  return {
    subscriptionid: subscriptionId,
    peer: peers.nameOf(peerId),
    about: aboutOf(subscription),
    how,
    sequence,
    since: momentOf(createdAt, deps.now()),
    href: `${deps.basePath}/${actor.id}/www/subscriptions/${encodeURIComponent(peerId)}/${encodeURIComponent(subscriptionId)}`,
  }
}

function publisherRow(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, PartQuery>,
  peers: Peers,
  subscription: PublisherSubscription,
  backlog: Backlog | undefined,
): SubscriptionRow {
  const { granularity } = subscription
  const how =
    granularity === 'high'
      ? 'is sent each change'
      : granularity === 'low'
        ? 'is notified that something changed'
        : 'comes and asks'
  return { ...commonRow(deps, exchange, peers, subscription, how), ...publisherState(deps, subscription, backlog) }
}

function publisherState(
  deps: SubscriptionPageDeps,
  { state, failingSince, granularity }: PublisherSubscription,
  backlog: Backlog | undefined,
): { readonly state: string; readonly is_in_order: boolean } {
  const { waiting = 0, failed = 0, unfetched = 0, pausedUntil = null } = backlog ?? {}
  if (state === 'stopped') return { state: `Stopped, ${count(failed, 'change')} failed`, is_in_order: false }
  if (failed > 0) return { state: `${count(failed, 'change')} failed`, is_in_order: false }
  if (!deliversCallbacks(granularity))
    return { state: unfetched === 0 ? 'All fetched' : `${count(unfetched, 'change')} to fetch`, is_in_order: true }
  if (pausedUntil !== null && pausedUntil > deps.now())
    return { state: `Cannot be reached, ${count(waiting, 'change')} wait`, is_in_order: false }
  if (failingSince !== null) return { state: `${count(waiting, 'change')} tried again`, is_in_order: false }
  return { state: waiting === 0 ? 'Up to date' : `${count(waiting, 'change')} on the way`, is_in_order: true }
}

function subscriberRow(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, PartQuery>,
  peers: Peers,
  subscription: SubscriberSubscription,
): SubscriptionRow {
  const { granularity, isUnknown, resyncPending, gapDueAt } = subscription
  const how =
    granularity === 'high'
      ? 'you are sent each change'
      : granularity === 'low'
        ? 'you are notified that something changed'
        : 'you ask when you like'
  const state = isUnknown
    ? { state: 'Not known there', is_in_order: false }
    : resyncPending
      ? { state: 'Fetching everything', is_in_order: false }
      : gapDueAt !== null
        ? { state: 'A number is missing', is_in_order: false }
        : { state: 'Up to date', is_in_order: true }
  return { ...commonRow(deps, exchange, peers, subscription, how), ...state }
}

function aboutOf({ target, subtarget, resource }: Scope): string {
  if (subtarget === '') return target === 'properties' ? 'all properties' : `everything in ${visible(target)}`
  return visible(`${target === 'properties' ? '' : `${target}/`}${subtarget}${resource === '' ? '' : `/${resource}`}`)
}

function timelineRow(entry: TimelineEntry, now: number): TimelineRow {
  const moment = (ms: number | null) => (ms === null ? null : momentOf(ms, now))
  const { outcome, reason, acknowledgedAt, answeredAt } = entry
  return {
    sequence: entry.sequence,
    outcome,
    outcome_text: `${outcome === 'unsent' && acknowledgedAt !== null ? 'Fetched' : outcomes[outcome]}${reason === '' || outcome === 'delivered' ? '' : `: ${reason}`}`,
    attempts: entry.attempts,
    written: momentOf(entry.writtenAt, now),
    sent: moment(entry.sentAt),
    // A successful response to a callback acknowledges the diff.
    acknowledged: moment(acknowledgedAt ?? (outcome === 'delivered' ? answeredAt : null)),
  }
}

const outcomes: Readonly<Record<TimelineEntry['outcome'], string>> = {
  waiting: 'On the way',
  delivered: 'Arrived',
  failed: 'Did not arrive',
  superseded: 'Arrived as part of something later',
  unsent: 'Kept for fetching',
}
