/** `/<actor>/subscriptions`: who listens to the actor, to whom it listens, and what waits for those who listen. */
import { nameOf } from '../../../caller.ts'
import { ServiceError } from '../../../errors.ts'
import { array, type JsonText, known, object, stringText, stringValue } from '../../../json/json.ts'
import type { Polled, Publications, Timeline } from '../../../publication/publications.ts'
import type { Subscribing } from '../../../replica/subscribing.ts'
import { endSubscription } from '../../../replica/unsubscribe.ts'
import type { SubscriptionRecord } from '../../../subscription/record-store.ts'
import { parseSequence } from '../../../replica/processor.ts'
import { subscriptionView } from '../../../subscription/view.ts'
import { fieldsOf, type Fields } from '../../../trust/fields.ts'
import { type Answer, json, jsonText, noContent } from '../../edge/response.ts'
import { type BodyLimits, readJson, readJsonOrForm } from '../../edge/body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'

const path = '/:actor/subscriptions'
const ofPeer = `${path}/:peerid`
const one = `${ofPeer}/:subscription`
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

export interface SubscriptionRouteDeps extends BaseUrl {
  readonly publications: Publications
  readonly subscribing: Subscribing
  readonly config: BodyLimits
}

export function subscriptionRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [...collectionRoutes(deps), ...peerRoutes(deps), ...subscriptionItemRoutes(deps), ...diffRoutes(deps)]
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

function subscriptionItemRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [
    {
      id: 'pollSubscription',
      method: 'GET',
      path: one,
      access: 'subscriptions',
      owner,
      summary: 'What waits for the peer; nothing is cleared by reading it',
      query: { timeline: '"true" gives the owner what became of each number instead' },
      responses: { 200: { text: 'The diffs, ascending', schema: { type: 'object' } }, ...actorErrors },
      handler: (exchange) => poll(deps, exchange),
    },
    {
      id: 'acknowledgeSubscription',
      method: 'PUT',
      path: one,
      access: 'subscriptions',
      owner,
      summary: 'Everything up to a number has arrived; 0 stands for everything',
      request: {
        'application/json': { type: 'object', required: ['sequence'], properties: { sequence: { type: 'integer' } } },
      },
      query: { sequence: 'In place of a body' },
      responses: { 204: 'Done', ...writeErrors },
      handler: (exchange) => acknowledge(deps, exchange),
    },
    {
      id: 'endSubscription',
      method: 'DELETE',
      path: one,
      access: 'subscriptions',
      owner,
      summary: 'Ends a subscription; the other side is told',
      responses: { 204: 'Done', ...actorErrors },
      handler: (exchange) => end(deps, exchange),
    },
  ]
}

function diffRoutes(deps: SubscriptionRouteDeps): readonly Route[] {
  return [
    {
      id: 'readDiff',
      method: 'GET',
      path: `${one}/:sequence`,
      access: 'subscriptions',
      owner,
      summary: 'One diff, which is cleared by that',
      responses: { 200: { text: 'The diff', schema: { type: 'object' } }, ...actorErrors },
      handler: (exchange) => readDiff(deps, exchange),
    },
    {
      id: 'redriveSubscription',
      method: 'POST',
      path: `${one}/redrive`,
      access: 'subscriptions',
      summary: 'Sends again what failed for good and is still kept',
      responses: {
        200: {
          text: 'How many changes are sent again',
          schema: { type: 'object', properties: { redriven: { type: 'integer' } } },
        },
        ...actorErrors,
      },
      handler: (exchange) => redrive(deps, exchange),
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
  const fields = body.kind === 'json' ? fieldsOf(body.json, 'subscribe') : null
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
  const fields = fieldsOf(await readJson(request, deps.config), 'subscribe')
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

async function poll(deps: SubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { actor, caller, query } = exchange
  const address = addressOf(exchange)
  if (query.get('timeline') === 'true') {
    if (caller.kind === 'peer') {
      throw new ServiceError('forbidden', 'Cannot show the time line: it is the owner’s', {
        reason: `${nameOf(caller)} asked for a time line`,
      })
    }
    const timeline = await deps.publications.timeline(address)
    if (timeline === null) throw noSubscription(address)
    return json(200, timelineView(timeline))
  }
  const polled = await deps.publications.poll(address, caller)
  if (polled !== null) return jsonText(200, pollView(polled))
  const [record] = await deps.publications.records(actor.id, {
    peerId: address.peerId,
    subscriptionId: address.subscriptionId,
  })
  if (record === undefined) throw noSubscription(address)
  return jsonText(200, pollView({ subscription: record, diffs: [] }))
}

function pollView({ subscription, diffs }: Pick<Polled, 'diffs'> & { subscription: Named }): JsonText {
  return object([
    ...namesOf(subscription),
    ['sequence', known(String(subscription.sequence))],
    [
      'data',
      array(
        diffs.map(({ sequence, createdAt, data, replaces }) =>
          object([
            ['sequence', known(String(sequence))],
            ['timestamp', stringText(timestamp(createdAt))],
            ['data', data],
            ...(replaces ? [['replaces', known('true')] as const] : []),
          ]),
        ),
      ),
    ],
  ])
}

type Named = Omit<SubscriptionRecord, 'granularity' | 'callback'>

function namesOf(subscription: Named): (readonly [string, JsonText])[] {
  return [
    ['id', stringText(subscription.actorId)],
    ['peerid', stringText(subscription.peerId)],
    ['subscriptionid', stringText(subscription.subscriptionId)],
    ['target', stringText(subscription.target)],
    ['subtarget', stringText(subscription.subtarget)],
    ['resource', stringText(subscription.resource)],
  ]
}

function timelineView({ subscription, entries }: Timeline): object {
  const { sequence, settled, state, failingSince } = subscription
  return {
    id: subscription.actorId,
    peerid: subscription.peerId,
    subscriptionid: subscription.subscriptionId,
    sequence,
    settled,
    state,
    failing_since: timestampOrNull(failingSince),
    data: entries.map((entry) => ({
      sequence: entry.sequence,
      outcome: entry.outcome,
      reason: entry.reason,
      attempts: entry.attempts,
      written_at: timestamp(entry.writtenAt),
      sent_at: timestampOrNull(entry.sentAt),
      answered_at: timestampOrNull(entry.answeredAt),
      acknowledged_at: timestampOrNull(entry.acknowledgedAt),
    })),
  }
}

async function acknowledge(deps: SubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, query } = exchange
  const bytes = await request.body(deps.config.maxBodyBytes)
  const given =
    bytes.length === 0
      ? query.get('sequence')
      : (fieldsOf(await readJson(request, deps.config), 'acknowledge').get('sequence') ?? query.get('sequence'))
  const sequence = parseSequence(given?.replace(/^"(.*)"$/, '$1') ?? '')
  if (sequence === null) throw new ServiceError('bad_request', 'Cannot acknowledge: sequence must be a whole number')
  const address = addressOf(exchange)
  if (!(await deps.publications.acknowledge(address, sequence))) throw noSubscription(address)
  return noContent()
}

async function end(deps: SubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { actor, caller } = exchange
  const address = addressOf(exchange)
  const isPeer = caller.kind === 'peer'
  const wasThere = await endSubscription(deps, actor, address, isPeer ? 'peer' : 'owner')
  if (!wasThere && !isPeer) throw noSubscription(address)
  return noContent()
}

async function readDiff(deps: SubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, caller, params } = exchange
  const address = addressOf(exchange)
  const sequence = parseSequence(params['sequence'] ?? '')
  // HEAD answers as GET does and leaves the diff in place.
  const clears = request.method !== 'HEAD'
  const read = sequence === null ? null : await deps.publications.readOne(address, sequence, caller, clears)
  if (read === null) throw new ServiceError('not_found', 'There is no such diff (any more)')
  const { diff } = read
  return jsonText(
    200,
    object([
      ...namesOf(read.subscription),
      ['timestamp', stringText(timestamp(diff.createdAt))],
      ['sequence', known(String(diff.sequence))],
      ['data', diff.data],
      ...(diff.replaces ? [['replaces', known('true')] as const] : []),
    ]),
  )
}

async function redrive(deps: SubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const address = addressOf(exchange)
  const redriven = await deps.publications.redrive(address)
  if (redriven === null) throw noSubscription(address)
  return json(200, { redriven })
}

function addressOf({ actor, params }: ActorExchange): { actorId: string; peerId: string; subscriptionId: string } {
  return { actorId: actor.id, peerId: params['peerid'] ?? '', subscriptionId: params['subscription'] ?? '' }
}

function noSubscription({ subscriptionId }: { readonly subscriptionId: string }): ServiceError {
  return new ServiceError('not_found', `There is no subscription ${JSON.stringify(subscriptionId.slice(0, 128))}`)
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}
