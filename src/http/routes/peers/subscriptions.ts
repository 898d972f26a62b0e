/** `/<actor>/subscriptions`: the subscriptions of peers to the actor, and the actor's own to peers. */
import { ServiceError } from '../../../errors.ts'
import { stringValue } from '../../../json/json.ts'
import { subscriptionView } from '../../../subscription/view.ts'
import { requestFieldsOf, type Fields } from '../../../trust/fields.ts'
import { type Answer, json, noContent } from '../../edge/response.ts'
import { readJson, readJsonOrForm } from '../../edge/body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'
import { type OneSubscriptionRouteDeps, oneSubscriptionRoutes } from './one-subscription.ts'

const path = '/:actor/subscriptions'
const ofPeer = `${path}/:peerid`
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
    sequence: { type: 'integer', description: 'The last number produced, or the last one applied' },
    callback: { type: 'boolean', description: 'True where this actor is the one that listens' },
  },
} as const
const listSchema = { type: 'object', properties: { data: { type: 'array', items: subscriptionSchema } } }
const scopeQuery = {
  target: 'Only those to this target',
  subtarget: 'Only those to this part of it',
  resource: 'Only those to this part of that',
}

export interface SubscriptionRouteDeps extends OneSubscriptionRouteDeps, BaseUrl {}

export function subscriptionRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [...collectionRoutes(deps), ...peerRoutes(deps), ...oneSubscriptionRoutes(deps)]
}

function collectionRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [
    {
      id: 'listSubscriptions',
      method: 'GET',
      path,
      access: 'subscriptions',
      summary: 'Subscriptions in both directions',
      query: { peerid: 'Only those with this peer', ...scopeQuery },
      responses: { 200: { text: 'The subscriptions', schema: listSchema }, ...actorErrors },
      handler: (exchange) => listAll(deps, exchange),
    },
    {
      id: 'subscribe',
      method: 'POST',
      path,
      access: 'subscriptions',
      summary: 'Begins to listen to a peer, and fetches what it shows',
      request: {
        'application/json': {
          type: 'object',
          required: ['peerid', 'target'],
          properties: {
            peerid: { type: 'string' },
            target: { type: 'string' },
            subtarget: { type: ['string', 'null'] },
            resource: { type: ['string', 'null'] },
            granularity: {
              type: 'string',
              description: '`high`, `low`, or anything else to poll (`none` unless given)',
            },
          },
        },
      },
      responses: {
        204: 'Subscribed; Location is the subscription at the peer',
        ...errorResponses(408),
        ...writeErrors,
      },
      handler: (exchange) => subscribe(deps, exchange),
    },
  ]
}

function peerRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [
    {
      id: 'listSubscriptionsOfPeer',
      method: 'GET',
      path: ofPeer,
      access: 'subscriptions',
      owner,
      summary: 'Subscriptions between the actor and one peer',
      query: scopeQuery,
      responses: { 200: { text: 'The subscriptions', schema: listSchema }, ...actorErrors },
      handler: (exchange) => listOfPeer(deps, exchange),
    },
    {
      id: 'receiveSubscription',
      method: 'POST',
      path: ofPeer,
      access: 'subscriptions',
      owner: { ...owner, exclusive: true },
      summary: 'The peer begins to listen to the actor',
      request: {
        'application/json': {
          type: 'object',
          required: ['target'],
          properties: {
            target: { type: 'string' },
            subtarget: { type: ['string', 'null'] },
            resource: { type: ['string', 'null'] },
            granularity: {
              type: 'string',
              description: '`high`, `low`, or anything else to poll (`none` unless given)',
            },
          },
        },
      },
      responses: { 201: { text: 'The subscription', schema: subscriptionSchema }, ...writeErrors },
      handler: (exchange) => receive(deps, exchange),
    },
  ]
}

async function listAll(deps: SubscriptionRouteDeps, { actor, query }: ActorExchange): Promise<Answer> {
  const peerId = query.get('peerid')
  const filter = peerId === undefined ? scopeIn(query) : { peerId }
  const records = await deps.publications.records(actor.id, filter)
  return json(200, { id: actor.id, data: records.map(subscriptionView) })
}

async function subscribe(deps: SubscriptionRouteDeps, { actor, request, query }: ActorExchange): Promise<Answer> {
  const body = await readJsonOrForm(request, deps.config)
  if (body.kind === 'text')
    throw new ServiceError('invalid_json', 'Cannot read the body: it is neither JSON nor a form')
  const fields = body.kind === 'json' ? requestFieldsOf(body.json, 'subscribe') : null
  const form = body.kind === 'form' ? body.form : query
  const field = (name: string): string => (fields === null ? form.get(name) : optionalText(fields, name)) ?? ''
  const [peerId, target] = [field('peerid'), field('target')]
  if (peerId === '' || target === '')
    throw new ServiceError('bad_request', 'Cannot subscribe: peerid and target have to be given')
  const granularity = field('granularity') || 'none'
  const wish = { target, subtarget: field('subtarget'), resource: field('resource'), granularity }
  const { location } = await deps.subscribing.subscribe(actor, peerId, wish)
  return noContent({ Location: location })
}

async function listOfPeer(deps: SubscriptionRouteDeps, { actor, params, query }: ActorExchange): Promise<Answer> {
  const peerId = params['peerid'] ?? ''
  const records = await deps.publications.records(actor.id, { peerId, ...scopeIn(query) })
  return json(200, { id: actor.id, peerid: peerId, data: records.map(subscriptionView) })
}

function scopeIn(query: ActorExchange['query']): { target?: string; subtarget?: string; resource?: string } {
  const names = ['target', 'subtarget', 'resource'] as const
  return Object.fromEntries(names.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : [])))
}

async function receive(deps: SubscriptionRouteDeps, { request, actor, params }: ActorExchange): Promise<Answer> {
  const fields = requestFieldsOf(await readJson(request, deps.config), 'subscribe')
  const target = optionalText(fields, 'target') ?? ''
  if (target === '') throw new ServiceError('bad_request', 'Cannot subscribe: target is missing')
  const peerId = params['peerid'] ?? ''
  const subtarget = optionalText(fields, 'subtarget') ?? ''
  const resource = optionalText(fields, 'resource') ?? ''
  const granularity = optionalText(fields, 'granularity') ?? 'none'
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

/** Null is absence. @throws ServiceError `bad_request` for anything but a text. */
function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields.get(name)
  if (value === undefined || value === 'null') return undefined
  const text = stringValue(value)
  if (text === null || !text.isWellFormed() || text.includes('\0'))
    throw new ServiceError('bad_request', `Cannot subscribe: ${name} must be a text`)
  return text
}
