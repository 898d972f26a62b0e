/** `/<actor>/subscriptions`: the subscriptions of peers to the actor, and the actor's own to peers. */
import { nullable, optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { present } from '../../../json/present.ts'
import type { SubscriptionRecord } from '../../../subscription/record-store.ts'
import { subscriptionView } from '../../../subscription/view.ts'
import { pagedJson } from '../../edge/paged-json.ts'
import { type HttpResponse, json, noContent } from '../../edge/response.ts'
import { defineRoute, type NameFinder } from '../../dispatch/define-route.ts'
import { jsonBody, jsonOrForm } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'
import { type OneSubscriptionRouteDeps, oneSubscriptionRoutes } from './one-subscription.ts'

const path = '/:actor/subscriptions'
const ofPeer = `${path}/:peerid` as const
const owner = { param: 'peerid', standing: 'approved' } as const

const subscriptionSchema = {
  type: 'object',
  required: [
    'id',
    'peerid',
    'subscriptionid',
    'granularity',
    'target',
    'subtarget',
    'resource',
    'sequence',
    'callback',
  ],
  properties: {
    id: { type: 'string' },
    peerid: { type: 'string' },
    subscriptionid: { type: 'string' },
    granularity: { type: 'string' },
    target: { type: 'string' },
    subtarget: { type: 'string' },
    resource: { type: 'string' },
    sequence: { type: 'integer', description: 'The last sequence number produced, or the last one applied' },
    callback: { type: 'boolean', description: 'True when this actor is the subscriber' },
  },
} as const
const listSchema = { type: 'object', properties: { data: { type: 'array', items: subscriptionSchema } } }
const scopeQuery = {
  target: optional(stringField('Only those to this target')),
  subtarget: optional(stringField('Only those to this part of it')),
  resource: optional(stringField('Only those to this part of that')),
}
const listQuery = { peerid: optional(stringField('Only those with this peer')), ...scopeQuery }

const storable = { isStorable: true } as const
const scopeFields = {
  target: stringField('The target of the subscription', { ...storable, minLength: 1 }),
  subtarget: nullable(stringField('A part of the target', storable)),
  resource: nullable(stringField('A part of that part', storable)),
  granularity: nullable(stringField('`high`, `low`, or anything else to poll (`none` unless given)', storable)),
}
const subscribeFields = { peerid: stringField('The peer', { ...storable, minLength: 1 }), ...scopeFields }

export interface SubscriptionRouteDeps extends OneSubscriptionRouteDeps, BaseUrl {
  readonly properties: NameFinder
}

export function subscriptionRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [...collectionRoutes(deps), ...peerRoutes(deps), ...oneSubscriptionRoutes(deps)]
}

function collectionRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listSubscriptions',
      method: 'GET',
      path,
      access: 'subscriptions',
      summary: 'Subscriptions in both directions',
      query: listQuery,
      responses: { 200: { text: 'The subscriptions', schema: listSchema }, ...actorErrors },
      handler: (exchange) => listAll(deps, exchange),
    }),
    defineRoute({
      id: 'subscribe',
      method: 'POST',
      path,
      access: 'subscriptions',
      summary: 'Subscribes to a peer and fetches its current data',
      request: jsonOrForm('subscribe', subscribeFields, { orQuery: true }),
      responses: {
        204: 'Subscribed; Location is the subscription at the peer',
        ...errorResponses(408),
        ...writeErrors,
      },
      handler: async (exchange) => subscribe(deps, exchange, await exchange.body()),
    }),
  ]
}

function peerRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listSubscriptionsOfPeer',
      method: 'GET',
      path: ofPeer,
      access: 'subscriptions',
      owner,
      summary: 'Subscriptions between the actor and one peer',
      query: scopeQuery,
      responses: { 200: { text: 'The subscriptions', schema: listSchema }, ...actorErrors },
      handler: (exchange) => listOfPeer(deps, exchange),
    }),
    defineRoute({
      id: 'receiveSubscription',
      method: 'POST',
      path: ofPeer,
      access: 'subscriptions',
      owner: { ...owner, exclusive: true },
      summary: 'Subscribes the peer to the actor',
      request: jsonBody('subscribe', scopeFields),
      responses: { 201: { text: 'The subscription', schema: subscriptionSchema }, ...writeErrors },
      handler: async (exchange) => receive(deps, exchange, await exchange.body()),
    }),
  ]
}

async function listAll(
  deps: SubscriptionRouteDeps,
  { actor, query: { peerid, ...scope } }: ActorExchange<never, ValuesOf<typeof listQuery>>,
): Promise<HttpResponse> {
  const filter = peerid === undefined ? present(scope) : { peerId: peerid }
  return pagedJson(viewsOf(deps.publications.records(actor.id, filter)), { before: { id: actor.id }, name: 'data' })
}

async function subscribe(
  deps: SubscriptionRouteDeps,
  { actor }: ActorExchange,
  { peerid, target, subtarget = '', resource = '', granularity }: ValuesOf<typeof subscribeFields>,
): Promise<HttpResponse> {
  const wish = { target, subtarget, resource, granularity: granularity || 'none' }
  const { location } = await deps.subscribing.subscribe(actor, peerid, wish)
  return noContent({ Location: location })
}

async function listOfPeer(
  deps: SubscriptionRouteDeps,
  { actor, params: { peerid }, query }: ActorExchange<'peerid', ValuesOf<typeof scopeQuery>>,
): Promise<HttpResponse> {
  const records = deps.publications.records(actor.id, { peerId: peerid, ...present(query) })
  return pagedJson(viewsOf(records), { before: { id: actor.id, peerid }, name: 'data' })
}

async function* viewsOf(pages: AsyncIterable<readonly SubscriptionRecord[]>): AsyncGenerator<readonly object[]> {
  for await (const page of pages) yield page.map(subscriptionView)
}

async function receive(
  deps: SubscriptionRouteDeps,
  { actor, params: { peerid: peerId } }: ActorExchange<'peerid'>,
  { target, subtarget: given = '', resource = '', granularity = 'none' }: ValuesOf<typeof scopeFields>,
): Promise<HttpResponse> {
  const subtarget = target === 'properties' ? await deps.properties.nameOf(actor.id, given) : given
  const subscription = await deps.publications.subscribe(actor.id, peerId, {
    target,
    subtarget,
    resource,
    granularity,
  })
  const { subscriptionId } = subscription
  return json(
    201,
    {
      subscriptionid: subscriptionId,
      target,
      subtarget: subtarget === '' ? null : subtarget,
      resource: resource === '' ? null : resource,
      granularity,
      sequence: 0,
    },
    { Location: `${urlOf(deps, actor.id)}/subscriptions/${encodeURIComponent(peerId)}/${subscriptionId}` },
  )
}
