/** The pages of subscriptions in both directions, and their forms. */
import type { Params } from '../../http/edge/params.ts'
import type { ServiceError } from '../../errors.ts'
import { endSubscription } from '../../replica/unsubscribe.ts'
import type { Backlog } from '../../publication/backlog-store.ts'
import type { PublisherSubscription } from '../../publication/publisher-subscription.ts'
import type { SubscriberSubscription } from '../../replica/subscriber.ts'
import { momentOf } from '../shared/time.ts'
import type { SubscriptionRow, SubscriptionsValues, SubscriptionValues } from './values.ts'
import type { Messages } from '../languages/language.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { goOn, pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { pagingOf, partOf, type PartQuery } from '../shared/paging.ts'
import { type Peers, peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { seenList, seenValue } from '../shared/seen-property.ts'
import { noTimeline, type TimelineQuery, timelineValues } from './timeline.ts'
import { aboutOf, publisherState } from './subscription-words.ts'
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
const namesOnAPage = 50

export async function showSubscriptions(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, PartQuery>,
): Promise<HttpResponse> {
  const { actor, query } = exchange
  const paging = pagingOf(query, await deps.publications.count(actor.id), rowsOnAPage)
  const onPage = { offset: (paging.page - 1) * rowsOnAPage, limit: rowsOnAPage }
  const [values, peers, publisherSide, subscriberSide] = await Promise.all([
    pageValues(deps, exchange, '/subscriptions'),
    peersOf(deps, actor.id, deps.languages.of(exchange.request).messages),
    deps.publications.listPage(actor.id, onPage),
    deps.subscribing.list(actor.id),
  ])
  const page = deps.pages.subscriptions({
    ...values,
    listeners: publisherSide.map(({ subscription, backlog }) =>
      publisherRow(deps, exchange, peers, subscription, backlog),
    ),
    paging,
    listening: subscriberSide.slice(0, 200).map((each) => subscriberRow(deps, exchange, peers, each)),
  })
  return showPage(deps, exchange, page)
}

export async function showSubscription(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, TimelineQuery>,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const { actor, params, query } = exchange
  const address = { actorId: actor.id, peerId: params['peerid'] ?? '', subscriptionId: params['subscription'] ?? '' }
  const [peers, found, subscriberSide] = await Promise.all([
    peersOf(deps, actor.id, deps.languages.of(exchange.request).messages),
    deps.publications.timeline(address),
    deps.subscribing.list(actor.id, address.peerId),
  ])
  const own = subscriberSide.find(({ subscriptionId }) => subscriptionId === address.subscriptionId)
  const now = deps.now()
  const path = `/subscriptions/${encodeURIComponent(address.peerId)}/${encodeURIComponent(address.subscriptionId)}`
  const values = await pageValues(deps, exchange, path, error)
  const { messages } = deps.languages.of(exchange.request)
  const form_action = `${values.actor_www}${path}`
  if (found !== null) {
    const page = deps.pages.subscription({
      ...values,
      ...timelineValues(found, query, { page: form_action, now, messages }),
      form_action,
      subscription: publisherRow(deps, exchange, peers, found.subscription, found.backlog),
      is_own: false,
      known: [],
    })
    return showPage(deps, exchange, page, error?.status)
  }
  if (own === undefined) throw missing('The subscription does not exist')
  const remote = await deps.subscribing.known(actor.id, address.peerId)
  const known = [...remote].filter(([name]) => own.subtarget === '' || own.subtarget === name)
  const namePaging = pagingOf(query, known.length, namesOnAPage)
  const page = deps.pages.subscription({
    ...values,
    ...noTimeline,
    form_action,
    address: form_action,
    paging: namePaging,
    subscription: subscriberRow(deps, exchange, peers, own),
    is_own: true,
    known: partOf(known, namePaging, namesOnAPage).map(([name, each]) =>
      each.kind === 'value'
        ? seenValue({ name, may: [] }, each.value, messages)
        : seenList({ name, may: [] }, { length: each.items.length, items: each.items }, messages),
    ),
  })
  return showPage(deps, exchange, page, error?.status)
}

export async function changeSubscription(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, TimelineQuery> & Bodied<Params>,
): Promise<HttpResponse> {
  const { actor, params } = exchange
  const address = { peerId: params['peerid'] ?? '', subscriptionId: params['subscription'] ?? '' }
  const sent = await exchange.body()
  return refusedOnPage(
    exchange,
    async () => {
      switch (sent.get('action')) {
        case 'end':
          if (!(await endSubscription(deps, actor, address, 'owner')))
            throw missing('The subscription no longer exists')
          return goOn(deps, exchange, sent, '/subscriptions', 'subscriptionEnded')
        case 'redrive':
          if ((await deps.publications.redrive({ actorId: actor.id, ...address })) === null)
            throw missing('The subscription no longer exists')
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

function missing(message: string): ServiceError {
  return pageRefusal('not_found', message, ({ subscriptions }) => subscriptions.missing)
}

type Common = Omit<SubscriptionRow, 'state' | 'is_in_order'>

function commonRow(
  deps: SubscriptionPageDeps,
  { actor, request }: PageExchange<string, PartQuery>,
  peers: Peers,
  subscription: PublisherSubscription | SubscriberSubscription,
): Common {
  const { messages } = deps.languages.of(request)
  const { peerId, subscriptionId, sequence, createdAt, granularity } = subscription
  return {
    subscriptionid: subscriptionId,
    peer: peers.nameOf(peerId),
    about: aboutOf(subscription, messages),
    how: howOf(granularity, messages),
    sequence,
    since: momentOf(createdAt, deps.now(), messages),
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
  const { messages } = deps.languages.of(exchange.request)
  return {
    ...commonRow(deps, exchange, peers, subscription),
    ...publisherState({ subscription, backlog }, deps.now(), messages),
  }
}

function subscriberRow(
  deps: SubscriptionPageDeps,
  exchange: PageExchange<string, PartQuery>,
  peers: Peers,
  subscription: SubscriberSubscription,
): SubscriptionRow {
  const { isUnknown, resyncPending, gapDueAt } = subscription
  const { subscriptions: words } = deps.languages.of(exchange.request).messages
  const state = isUnknown
    ? { state: words.endedByThem, is_in_order: false }
    : resyncPending
      ? { state: words.syncing, is_in_order: false }
      : gapDueAt !== null
        ? { state: words.recovering, is_in_order: false }
        : { state: words.upToDate, is_in_order: true }
  return { ...commonRow(deps, exchange, peers, subscription), ...state }
}

function howOf(granularity: string, { subscriptions: words }: Messages): string {
  if (granularity === 'high') return words.full
  return granularity === 'low' ? words.notifications : words.onRequest
}
