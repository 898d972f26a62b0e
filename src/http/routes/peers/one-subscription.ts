/** `/<actor>/subscriptions/<peer>/<subscription>`: one subscription, and the diffs that wait for its peer. */
import { setImmediate } from 'node:timers/promises'
import { callerName } from '../../../caller.ts'
import { quoted, ServiceError } from '../../../errors.ts'
import { hintField, integerField, optional } from '../../../json/fields.ts'
import { type JsonText, known, object, stringText } from '../../../json/json.ts'
import type { Polled, Publications, Timeline } from '../../../publication/publications.ts'
import type { Subscribing } from '../../../replica/subscribing.ts'
import { endSubscription } from '../../../replica/unsubscribe.ts'
import type { SubscriptionRecord } from '../../../subscription/record-store.ts'
import { type HttpResponse, json, jsonStream, jsonText, noContent } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonOrForm } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, writeErrors } from '../../dispatch/schemas.ts'

const one = '/:actor/subscriptions/:peerid/:subscription'
const owner = { param: 'peerid', standing: 'approved' } as const

/** The parts of an exchange that the handlers need, without the sequence number. */
type SubscriptionExchange = Pick<ActorExchange<'peerid' | 'subscription'>, 'actor' | 'caller' | 'params' | 'request'>

export interface OneSubscriptionRouteDeps {
  readonly publications: Publications
  readonly subscribing: Subscribing
}

export function oneSubscriptionRoutes(deps: OneSubscriptionRouteDeps): readonly Route[] {
  return [...addressedRoutes(deps), ...diffRoutes(deps)]
}

function addressedRoutes(deps: OneSubscriptionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'pollSubscription',
      method: 'GET',
      path: one,
      access: 'subscriptions',
      owner,
      summary: 'Returns the pending diffs and keeps them',
      query: {
        timeline: hintField('"true" returns the timeline to the owner instead: the outcome of each sequence number', [
          'true',
        ]),
      },
      responses: { 200: { text: 'The diffs, ascending', schema: { type: 'object' } }, ...actorErrors },
      handler: (exchange) => poll(deps, exchange, exchange.query.timeline === 'true'),
    }),
    defineRoute({
      id: 'acknowledgeSubscription',
      method: 'PUT',
      path: one,
      access: 'subscriptions',
      owner,
      summary: 'Acknowledges all diffs up to a sequence number; 0 acknowledges all',
      request: jsonOrForm('acknowledge', { sequence: optional(integerField('The last received sequence number')) }),
      query: { sequence: optional(integerField('In place of a body')) },
      responses: { 204: 'Done', ...writeErrors },
      handler: async (exchange) =>
        acknowledge(deps, addressOf(exchange), (await exchange.body()).sequence ?? exchange.query.sequence),
    }),
    defineRoute({
      id: 'endSubscription',
      method: 'DELETE',
      path: one,
      access: 'subscriptions',
      owner,
      summary: 'Ends a subscription and notifies the peer',
      responses: { 204: 'Done', ...actorErrors },
      handler: (exchange) => end(deps, exchange),
    }),
  ]
}

function diffRoutes(deps: OneSubscriptionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'readDiff',
      method: 'GET',
      path: `${one}/:sequence`,
      params: { sequence: integerField('Of the diff') },
      access: 'subscriptions',
      owner,
      summary: 'Returns one diff and clears it',
      responses: { 200: { text: 'The diff', schema: { type: 'object' } }, ...actorErrors },
      handler: (exchange) => readDiff(deps, exchange, exchange.params.sequence),
    }),
    defineRoute({
      id: 'redriveSubscription',
      method: 'POST',
      path: `${one}/redrive`,
      access: 'subscriptions',
      summary: 'Sends the diffs again that failed permanently and are still stored',
      responses: {
        200: {
          text: 'The number of diffs that are sent again',
          schema: { type: 'object', properties: { redriven: { type: 'integer' } } },
        },
        ...actorErrors,
      },
      handler: (exchange) => redrive(deps, exchange),
    }),
  ]
}

async function poll(
  deps: OneSubscriptionRouteDeps,
  exchange: SubscriptionExchange,
  wantsTimeline: boolean,
): Promise<HttpResponse> {
  const { caller } = exchange
  const address = addressOf(exchange)
  if (wantsTimeline) {
    if (caller.kind === 'peer') {
      throw new ServiceError('forbidden', 'Cannot show the timeline: only the owner may read it', {
        reason: `${callerName(caller)} requested a timeline`,
      })
    }
    const timeline = await deps.publications.timeline(address)
    if (timeline === null) throw noSubscription(address)
    return json(200, timelineView(timeline))
  }
  const polled = await deps.publications.poll(address, caller)
  if (polled !== null) return pollResponse(polled)
  const record = await deps.publications.record(address)
  if (record === null) throw noSubscription(address)
  return pollResponse({ subscription: record, diffs: [], isCut: false, shown: (diff) => diff })
}

/** Diffs up to this length together are sent at once, in characters. */
const shortCharacters = 262_144

async function pollResponse(polled: Shown): Promise<HttpResponse> {
  const characters = polled.diffs.reduce((sum, { data }) => sum + data.length, 0)
  const pieces = pollPieces(polled)
  if (characters > shortCharacters) return jsonStream(200, pieces)
  return jsonText(200, known((await Array.fromAsync(pieces)).join('')))
}

type Shown = Pick<Polled, 'diffs' | 'isCut' | 'shown'> & { readonly subscription: Named }

/** Shows one diff after the other, because the parts that a peer may see take time to find. */
async function* pollPieces({ subscription, diffs, isCut, shown }: Shown): AsyncGenerator<string> {
  const numbers = isCut ? numbersOfCut(subscription, diffs) : { sequence: subscription.sequence }
  const members = Object.entries(numbers).map(([name, number]) => [name, known(String(number))] as const)
  yield `${object([...namesOf(subscription), ...members]).slice(0, -1)},"data":[`
  for (const [at, diff] of diffs.entries()) {
    await setImmediate()
    const { sequence, createdAt, data, replaces } = shown(diff)
    yield `${at === 0 ? '' : ','}{"sequence":${sequence},"timestamp":${stringText(timestamp(createdAt))},"data":`
    yield data
    yield replaces ? ',"replaces":true}' : '}'
  }
  yield ']}'
}

/** Peers acknowledge `sequence`, which deletes all diffs up to it. So it is the last one of a cut answer, and the others remain. */
function numbersOfCut({ sequence }: Named, diffs: Shown['diffs']): Record<'sequence' | 'last_sequence', number> {
  return { sequence: diffs.at(-1)?.sequence ?? sequence, last_sequence: sequence }
}

type Named = Omit<SubscriptionRecord, 'granularity' | 'callback' | 'createdAt'>

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

async function acknowledge(
  deps: OneSubscriptionRouteDeps,
  address: Address,
  sequence: number | undefined,
): Promise<HttpResponse> {
  if (sequence === undefined) throw new ServiceError('bad_request', 'Cannot acknowledge: sequence is missing')
  if (!(await deps.publications.acknowledge(address, sequence))) throw noSubscription(address)
  return noContent()
}

async function end(deps: OneSubscriptionRouteDeps, exchange: SubscriptionExchange): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const address = addressOf(exchange)
  const isPeer = caller.kind === 'peer'
  const wasThere = await endSubscription(deps, actor, address, isPeer ? 'peer' : 'owner')
  if (!wasThere && !isPeer) throw noSubscription(address)
  return noContent()
}

async function readDiff(
  deps: OneSubscriptionRouteDeps,
  exchange: SubscriptionExchange,
  sequence: number,
): Promise<HttpResponse> {
  const { request, caller } = exchange
  const address = addressOf(exchange)
  // HEAD answers as GET does and leaves the diff in place.
  const clears = request.method !== 'HEAD'
  const read = await deps.publications.readOne(address, sequence, caller, clears)
  if (read === null) throw new ServiceError('not_found', 'Cannot find the diff: it does not exist or was cleared')
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

async function redrive(deps: OneSubscriptionRouteDeps, exchange: SubscriptionExchange): Promise<HttpResponse> {
  const address = addressOf(exchange)
  const redriven = await deps.publications.redrive(address)
  if (redriven === null) throw noSubscription(address)
  return json(200, { redriven })
}

interface Address {
  readonly actorId: string
  readonly peerId: string
  readonly subscriptionId: string
}

function addressOf({ actor, params }: SubscriptionExchange): Address {
  return { actorId: actor.id, peerId: params.peerid, subscriptionId: params.subscription }
}

function noSubscription({ subscriptionId }: { readonly subscriptionId: string }): ServiceError {
  return new ServiceError('not_found', `Cannot find the subscription ${quoted(subscriptionId)}: it does not exist`)
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}
