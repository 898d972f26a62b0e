/** `/<actor>/callbacks`: callbacks of peers, and callbacks that the application declared. */
import { anonymous, type Caller } from '../../../caller.ts'
import type { Config } from '../../../config/options.ts'
import { ServiceError } from '../../../errors.ts'
import { isObject, type Json, type JsonText, toPlain } from '../../../json/json.ts'
import { currentContext } from '../../../observe/context.ts'
import type { Callbacks } from '../../../operation/callbacks.ts'
import { type Permission, refusal } from '../../../permission/permission.ts'
import type { Publications } from '../../../publication/publications.ts'
import { grantSchema, type PeerFacts } from '../../../replica/peer-metadata.ts'
import { callbackSchema, parseCallback } from '../../../replica/processor.ts'
import type { Receiver } from '../../../replica/receiver.ts'
import type { Subscribing } from '../../../replica/subscribing.ts'
import { hopsAfter, hopsHeader, isLoop } from '../../../subscription/hop-limit.ts'
import { endSubscription } from '../../../replica/unsubscribe.ts'
import { type SubscriberSubscription, subscriberView } from '../../../replica/subscriber.ts'
import { type HttpResponse, jsonText, noContent } from '../../edge/response.ts'
import { type BodyLimits, readJsonOrForm } from '../../edge/body.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import { parsedBody, type RequestBody } from '../../dispatch/request-body.ts'
import { type ActorExchange, type Exchange, type OpenExchange, type Route, rightOf } from '../../dispatch/route.ts'
import { actorErrors, anyValue, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { authorizedOrGone } from './stale-secret.ts'

const path = '/:actor/callbacks'
const ofSubscription = `${path}/subscriptions/:peerid/:subscription` as const
const ofPermissions = `${path}/permissions/:peerid` as const
const sender = { param: 'peerid', standing: 'approved', exclusive: true } as const

export interface CallbackRouteDeps extends AppCallbackRouteDeps {
  readonly publications: Publications
  readonly subscribing: Subscribing
  readonly receiver: Receiver
  readonly facts: PeerFacts
  readonly permission: Permission
  readonly config: BodyLimits & Pick<Config, 'autoSequence'>
}

type Data = { readonly [member: string]: Json }

/** The body of a call by another service: the members of an object or the fields of a form; any other value becomes `body`. */
const anyBody: RequestBody<Data> = {
  content: { 'application/json': anyValue, 'application/x-www-form-urlencoded': { type: 'object' } },
  read: async ({ request, bodyLimits }) => {
    const body = await readJsonOrForm(request, bodyLimits)
    switch (body.kind) {
      case 'none':
        return {}
      case 'form':
        return Object.fromEntries(body.form.entries)
      case 'text':
        return { body: body.text }
      case 'json':
        return isObject(body.json) ? (toPlain(body.json) as Data) : { body: toPlain(body.json) }
      default:
        return body satisfies never
    }
  },
}

export function callbackRoutes(deps: CallbackRouteDeps): readonly Route[] {
  return [
    ...(['POST', 'PUT'] as const).map((method) =>
      defineRoute({
        id: `${method.toLowerCase()}SubscriptionCallback`,
        method,
        path: ofSubscription,
        access: 'open',
        category: 'callbacks',
        owner: sender,
        summary: 'Receives a change of a peer',
        request: parsedBody(callbackSchema, (body) => body, { inflates: true, lone: 'replace' }),
        responses: { 204: 'Taken, or known already', ...errorResponses(429), ...writeErrors },
        handler: (exchange) => takeCallback(deps, exchange),
      }),
    ),
    defineRoute({
      id: 'deleteSubscriptionCallback',
      method: 'DELETE',
      path: ofSubscription,
      access: 'callbacks',
      owner: { param: 'peerid', standing: 'approved' },
      summary: 'Ends a subscription, in either direction',
      responses: { 204: 'Ended', ...actorErrors },
      handler: (exchange) => end(deps, exchange),
    }),
    ...(['POST', 'PUT'] as const).map((method) =>
      defineRoute({
        id: `${method.toLowerCase()}PermissionCallback`,
        method,
        path: ofPermissions,
        access: 'callbacks',
        owner: sender,
        summary: 'Receives the permissions that a peer grants',
        request: parsedBody(grantSchema, (body) => body, { inflates: true, lone: 'replace' }),
        responses: { 204: 'Taken', ...writeErrors },
        handler: async (exchange) => takePermissions(deps, exchange, await exchange.body()),
      }),
    ),
    ...(['GET', 'POST', 'PUT', 'DELETE'] as const).map((method) =>
      defineRoute({
        id: `${method.toLowerCase()}Callback`,
        method,
        path: `${path}/*`,
        access: 'open',
        acts: true,
        summary: 'A callback of the application',
        ...(method === 'POST' || method === 'PUT' ? { request: anyBody } : {}),
        // Senders at other services add parameters of their own.
        unknownQuery: 'ignored',
        responses: {
          200: { text: 'The result of the handler, true, or false when no handler accepted it', schema: anyValue },
          ...(method === 'POST' || method === 'PUT' ? writeErrors : actorErrors),
        },
        handler: (exchange) => call(deps, exchange),
      }),
    ),
  ]
}

export interface AppCallbackRouteDeps {
  readonly callbacks: Callbacks
}

/** Returns the callback routes of the application. Undeclared callbacks are 404. */
export function appCallbackRoutes(deps: AppCallbackRouteDeps): readonly Route[] {
  return (['GET', 'POST', 'PUT', 'DELETE'] as const).map((method) =>
    defineRoute({
      id: `${method.toLowerCase()}AppCallback`,
      method,
      path: '/callbacks/:name',
      access: 'service',
      summary: 'A callback of the whole application',
      ...(method === 'POST' || method === 'PUT' ? { request: anyBody } : {}),
      // Senders at other services add parameters of their own.
      unknownQuery: 'ignored',
      responses: { 200: { text: 'The result of the handler', schema: anyValue }, ...errorResponses(404) },
      handler: (exchange) => callApp(deps, exchange),
    }),
  )
}

/** Receives a callback. A peer whose secret was deleted with the relationship learns that its subscriber no longer exists. */
async function takeCallback(
  deps: CallbackRouteDeps,
  exchange: OpenExchange<'peerid' | 'subscription'> & Bodied<JsonText>,
): Promise<HttpResponse> {
  const { actor, params, request } = exchange
  const key = { actorId: actor.id, peerId: params.peerid, subscriptionId: params.subscription }
  const requireStored = async (): Promise<SubscriberSubscription> => {
    const found = await deps.receiver.find(key)
    if (found === null) throw new ServiceError('not_found', 'Cannot find the subscription: it does not exist')
    return found
  }
  const caller = await authorizedOrGone(exchange, requireStored)
  const subscription = await requireStored()
  const body = await exchange.body()
  const context = currentContext()
  if (context !== undefined) context.hops = hopsAfter(request.header(hopsHeader.toLowerCase()))
  if (!deps.config.autoSequence) {
    if (isLoop(context?.hops)) throw new ServiceError('conflict', 'Cannot take this callback: it goes round in a loop')
    const data = objectOf(body)
    const call_ = { subscription: subscriberView(subscription), peer_id: key.peerId, data }
    if (await deps.callbacks.raw(actor, caller, call_)) return noContent()
    throw new ServiceError('rejected', 'Cannot take this callback: the application does not want it')
  }
  await deps.receiver.take(key, parseCallback(body, deps.config.maxJsonDepth))
  return noContent()
}

async function end(
  deps: CallbackRouteDeps,
  { actor, caller, params }: ActorExchange<'peerid' | 'subscription'>,
): Promise<HttpResponse> {
  const address = { peerId: params.peerid, subscriptionId: params.subscription }
  const isPeer = caller.kind === 'peer'
  const wasThere = await endSubscription(deps, actor, address, isPeer ? 'peer' : 'owner')
  if (!wasThere && !isPeer) throw new ServiceError('not_found', 'Cannot find the subscription: it does not exist')
  return noContent()
}

async function takePermissions(
  deps: CallbackRouteDeps,
  { actor, caller, params: { peerid: peerId } }: ActorExchange<'peerid'>,
  body: JsonText,
): Promise<HttpResponse> {
  const granted = await deps.facts.granted({ actorId: actor.id, peerId }, body)
  if (granted !== null) {
    await deps.callbacks.notifyActor({ actor, caller }, 'permissions', {
      ...objectOf(body),
      granting_actor_id: peerId,
      method: 'POST',
      permission_changes: { ...granted.changes },
    })
  }
  return noContent()
}

function objectOf(body: JsonText): { readonly [member: string]: Json } {
  if (!isObject(body))
    throw new ServiceError('bad_request', 'Cannot take this callback: the body must be a JSON object')
  return toPlain(body) as { readonly [member: string]: Json }
}

/** Callback names that the service uses. An application cannot declare them. */
const reserved: ReadonlySet<string> = new Set(['subscriptions', 'permissions'])

async function call(deps: CallbackRouteDeps, exchange: OpenExchange & Bodied<Data | undefined>): Promise<HttpResponse> {
  const { actor, rest, request } = exchange
  const name = rest.join('/')
  if (reserved.has(rest[0] ?? '')) throw new ServiceError('not_found', 'There is nothing at this address')
  const isOpen = deps.callbacks.isPublic(exchange, name) && request.header('authorization') === undefined
  const caller = isOpen ? anonymous : await exchange.authenticated()
  if (!isOpen) refuseUnlessKnown(deps, exchange, caller)
  return jsonText(200, await deps.callbacks.call({ actor, caller }, name, await dataOf(exchange)))
}

/** Authorizes every approved peer, and other callers by their rights. */
function refuseUnlessKnown(deps: CallbackRouteDeps, { method }: OpenExchange, caller: Caller): void {
  if (caller.kind === 'peer' && caller.approved) return
  const wanted = { category: 'callbacks', right: rightOf(method) } as const
  const verdict = deps.permission.mayTouch(caller, wanted)
  if (!verdict.allowed) throw refusal(caller, wanted, verdict)
}

async function callApp(
  deps: AppCallbackRouteDeps,
  exchange: Exchange<'name'> & Bodied<Data | undefined>,
): Promise<HttpResponse> {
  return jsonText(200, await deps.callbacks.callApp(exchange.params.name, await dataOf(exchange)))
}

async function dataOf({ method, body }: Exchange & Bodied<Data | undefined>): Promise<Data> {
  return { ...(await body()), method: method === 'PUT' ? 'POST' : method }
}
