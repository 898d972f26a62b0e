/** `/<actor>/subscriptions/<peer>/<subscription>`: one subscription, and the diffs that wait for its peer. */
import { callerName } from '../../../caller.ts'
import { ServiceError } from '../../../errors.ts'
import { array, type JsonText, known, object, stringText } from '../../../json/json.ts'
import type { Polled, Publications, Timeline } from '../../../publication/publications.ts'
import { parseSequence } from '../../../replica/processor.ts'
import type { Subscribing } from '../../../replica/subscribing.ts'
import { endSubscription } from '../../../replica/unsubscribe.ts'
import type { SubscriptionRecord } from '../../../subscription/record-store.ts'
import { requestFieldsOf } from '../../../trust/fields.ts'
import { type Answer, json, jsonText, noContent } from '../../edge/response.ts'
import { type BodyLimits, readJson } from '../../edge/body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, writeErrors } from '../../dispatch/schemas.ts'

const one = '/:actor/subscriptions/:peerid/:subscription'
const owner = { param: 'peerid', standing: 'approved' } as const

export interface OneSubscriptionRouteDeps {
  readonly publications: Publications
  readonly subscribing: Subscribing
  readonly config: BodyLimits
}

export function oneSubscriptionRoutes(deps: OneSubscriptionRouteDeps): readonly Route[] {
  return [...addressedRoutes(deps), ...diffRoutes(deps)]
}

function addressedRoutes(deps: OneSubscriptionRouteDeps): readonly Route[] {
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

function diffRoutes(deps: OneSubscriptionRouteDeps): readonly Route[] {
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

async function poll(deps: OneSubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { actor, caller, query } = exchange
  const address = addressOf(exchange)
  if (query.get('timeline') === 'true') {
    if (caller.kind === 'peer') {
      throw new ServiceError('forbidden', 'Cannot show the time line: it is the owner’s', {
        reason: `${callerName(caller)} asked for a time line`,
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
  const { sequence, committed, state, failingSince } = subscription
  return {
    id: subscription.actorId,
    peerid: subscription.peerId,
    subscriptionid: subscription.subscriptionId,
    sequence,
    settled: committed,
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

async function acknowledge(deps: OneSubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { request, query } = exchange
  const bytes = await request.body(deps.config.maxBodyBytes)
  const given =
    bytes.length === 0
      ? query.get('sequence')
      : (requestFieldsOf(await readJson(request, deps.config), 'acknowledge').get('sequence') ?? query.get('sequence'))
  const sequence = parseSequence(given?.replace(/^"(.*)"$/, '$1') ?? '')
  if (sequence === null) throw new ServiceError('bad_request', 'Cannot acknowledge: sequence must be a whole number')
  const address = addressOf(exchange)
  if (!(await deps.publications.acknowledge(address, sequence))) throw noSubscription(address)
  return noContent()
}

async function end(deps: OneSubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { actor, caller } = exchange
  const address = addressOf(exchange)
  const isPeer = caller.kind === 'peer'
  const wasThere = await endSubscription(deps, actor, address, isPeer ? 'peer' : 'owner')
  if (!wasThere && !isPeer) throw noSubscription(address)
  return noContent()
}

async function readDiff(deps: OneSubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
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

async function redrive(deps: OneSubscriptionRouteDeps, exchange: ActorExchange): Promise<Answer> {
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
