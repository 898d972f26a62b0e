/** `/<actor>/trust`: relationships with other actors. */
import type { Caller } from '../../../caller.ts'
import { ServiceError } from '../../../errors.ts'
import type { Permission } from '../../../permission/permission.ts'
import { type Permissions, readOverride } from '../../../trust/permissions.ts'
import { requestFieldsOf, plainText, textField } from '../../../trust/fields.ts'
import { keptOwn } from '../../../trust/handshake/incoming-request.ts'
import { parseTrustChange } from '../../../trust/trust-change.ts'
import { trustUrl } from '../../../trust/baseuri.ts'
import type { Trust } from '../../../trust/trust.ts'
import type { Trusts, RelationshipRequest } from '../../../trust/trusts.ts'
import { type Answer, json, noContent, redirect } from '../../edge/response.ts'
import { readJson, readJsonOrForm } from '../../edge/body.ts'
import type { ActorExchange, Exchange, OpenExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, trustSchema, writeErrors } from '../../dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'
import { type TrusteeRouteDeps, trusteeRoutes } from './trustee.ts'

const path = '/:actor/trust'
const ofPeer = `${path}/:relationship/:peerid`

const record = { text: 'The relationship', schema: trustSchema }
const states = {
  200: { ...record, text: 'The relationship, approved here' },
  202: 'The relationship, not approved here',
}

export interface TrustRouteDeps extends TrusteeRouteDeps, BaseUrl {
  readonly trusts: Trusts
  readonly permission: Permission
  readonly permissions: Permissions
}

export function trustRoutes(deps: TrustRouteDeps): readonly Route[] {
  return [
    ...collectionRoutes(deps),
    ...trusteeRoutes(deps),
    ...namedRoutes(deps),
    ...namedChangeRoutes(deps),
    ...peerRoutes(deps),
  ]
}

function collectionRoutes(deps: TrustRouteDeps): readonly Route[] {
  return [
    {
      id: 'listTrusts',
      method: 'GET',
      path,
      access: 'trust',
      summary: 'The relationships of the actor',
      query: {
        relationship: 'Only those of this name',
        type: 'Only those with actors of this application type',
        peerid: 'Only the one with this peer',
      },
      responses: { 200: { text: 'The relationships', schema: { type: 'array', items: trustSchema } }, ...actorErrors },
      handler: (exchange) => list(deps, exchange),
    },
    {
      id: 'requestTrust',
      method: 'POST',
      path,
      access: 'trust',
      summary: 'Asks another actor for a relationship',
      request: {
        'application/json': {
          type: 'object',
          required: ['url'],
          properties: {
            url: { type: 'string', description: 'The other actor' },
            relationship: { type: 'string', description: 'The configured default unless given' },
            desc: { type: 'string' },
            type: { type: 'string', description: 'What kind of actor it has to be' },
          },
        },
      },
      responses: { 201: record, ...errorResponses(408), ...writeErrors },
      handler: (exchange) => ask(deps, exchange),
    },
  ]
}

function namedRoutes(deps: TrustRouteDeps): readonly Route[] {
  return [
    {
      id: 'getTrustsNamed',
      method: 'GET',
      path: `${path}/:relationship`,
      access: 'trust',
      owner: { param: 'relationship', standing: 'approved' },
      summary: 'The relationships of this name; a peer that names itself gets its own',
      responses: { 200: { text: 'A list, or the one record', schema: { type: ['array', 'object'] } }, ...actorErrors },
      handler: (exchange) => listNamed(deps, exchange),
    },
    {
      id: 'receiveTrust',
      method: 'POST',
      path: `${path}/:relationship`,
      access: 'open',
      limit: ['trust_request/source', 'trust_request/target', 'trust_request/total'],
      summary: 'Another actor asks for a relationship',
      request: {
        'application/json': {
          type: 'object',
          required: ['baseuri', 'id'],
          properties: {
            baseuri: { type: 'string', description: 'The actor that asks' },
            id: { type: 'string' },
            type: { type: 'string' },
            secret: { type: 'string', minLength: 16, description: 'Made here when absent, and told in the answer' },
            desc: { type: 'string' },
            verify: { type: 'string', description: 'What the asking actor shows when it is called back' },
          },
        },
      },
      responses: {
        201: { ...record, text: 'Approved at once' },
        202: 'Waits for approval',
        ...errorResponses(429),
        ...writeErrors,
      },
      handler: (exchange) => receive(deps, exchange),
    },
  ]
}

function namedChangeRoutes(deps: TrustRouteDeps): readonly Route[] {
  return [
    {
      id: 'putTrustNamed',
      method: 'PUT',
      path: `${path}/:relationship`,
      access: 'trust',
      summary: 'As for one relationship: the segment names the peer',
      responses: { 204: 'Done', ...writeErrors },
      handler: (exchange) => change(deps, exchange),
    },
    {
      id: 'deleteTrustNamed',
      method: 'DELETE',
      path: `${path}/:relationship`,
      access: 'open',
      category: 'trust',
      owner: { param: 'relationship', standing: 'any' },
      summary: 'As for one relationship: the segment names the peer',
      responses: { 204: 'Done', ...actorErrors },
      handler: (exchange) => remove(deps, exchange),
    },
  ]
}

function peerRoutes(deps: TrustRouteDeps): readonly Route[] {
  return [
    {
      id: 'getTrust',
      method: 'GET',
      path: ofPeer,
      access: 'trust',
      owner: { param: 'peerid', standing: 'any' },
      summary: 'One relationship, and whether it is approved here',
      query: { permissions: '`true` adds what the owner granted or withdrew beyond the trust type' },
      responses: { ...states, ...actorErrors },
      handler: (exchange) => get(deps, exchange),
    },
    {
      id: 'notifyTrust',
      method: 'POST',
      path: ofPeer,
      access: 'trust',
      owner: { param: 'peerid', standing: 'any', exclusive: true },
      summary: 'The peer says that its owner approved',
      request: { 'application/json': { type: 'object', properties: { approved: { type: 'boolean' } } } },
      responses: { 204: 'Done', ...writeErrors },
      handler: (exchange) => notified(deps, exchange),
    },
    {
      id: 'putTrust',
      method: 'PUT',
      path: ofPeer,
      access: 'trust',
      summary: 'Approves a relationship, withdraws the approval, or changes what is known of the peer',
      request: {
        'application/json': {
          type: 'object',
          properties: {
            approved: { type: 'boolean' },
            baseuri: { type: 'string' },
            desc: { type: 'string' },
            permissions: { type: 'object' },
          },
        },
      },
      responses: { 204: 'Done', ...writeErrors },
      handler: (exchange) => change(deps, exchange),
    },
    {
      id: 'deleteTrust',
      method: 'DELETE',
      path: ofPeer,
      access: 'open',
      category: 'trust',
      owner: { param: 'peerid', standing: 'any' },
      summary: 'Ends a relationship here at once; the peer is told in the background',
      query: { peer: '`true`: the peer is not told' },
      responses: { 204: 'Ended', ...errorResponses(400), ...actorErrors },
      handler: (exchange) => remove(deps, exchange),
    },
  ]
}

/** Who sees how much of a record. */
function audience(caller: Caller, trust: Trust): 'owner' | 'peer' | 'others' {
  if (caller.kind === 'creator') return 'owner'
  return caller.kind === 'peer' && caller.peerId === trust.peerId ? 'peer' : 'others'
}

async function list(deps: TrustRouteDeps, { actor, caller, query }: ActorExchange): Promise<Answer> {
  const filter = { relationship: query.get('relationship'), type: query.get('type'), peerId: query.get('peerid') }
  const trusts = await deps.trusts.list(actor.id, filter)
  return json(
    200,
    trusts.map((trust) => deps.trusts.shown(trust, audience(caller, trust))),
  )
}

/**
 * A peer whose subscriptions are all gone asks here, by its own id, whether the relationship still is: only its record
 * makes it keep its side.
 */
async function listNamed(deps: TrustRouteDeps, { actor, caller, params }: ActorExchange): Promise<Answer> {
  const name = params['relationship'] ?? ''
  if (caller.kind === 'peer' && caller.peerId === name) {
    const trust = await deps.trusts.require(actor.id, name, null)
    return json(200, deps.trusts.shown(trust, 'peer'))
  }
  const trusts = await deps.trusts.list(actor.id, { relationship: name })
  return json(
    200,
    trusts.map((trust) => deps.trusts.shown(trust, audience(caller, trust))),
  )
}

async function ask(deps: TrustRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { actor, caller } = exchange
  const trust = await deps.trusts.request(actor, await readWish(deps, exchange))
  return json(201, deps.trusts.shown(trust, audience(caller, trust)), locationOf(deps, trust))
}

async function readWish(deps: TrustRouteDeps, { request, query }: ActorExchange): Promise<RelationshipRequest> {
  const body = await readJsonOrForm(request, deps.config)
  if (body.kind === 'json') {
    const what = 'ask for this relationship'
    const fields = requestFieldsOf(body.json, what)
    return {
      url: textField(fields, 'url', what) ?? '',
      relationship: textField(fields, 'relationship', what),
      description: plainText(fields, 'desc', what),
      type: textField(fields, 'type', what),
    }
  }
  if (body.kind === 'text')
    throw new ServiceError('invalid_json', 'Cannot read the body: it is neither JSON nor a form')
  const fields = body.kind === 'form' ? body.form : query
  return {
    url: fields.get('url') ?? '',
    relationship: fields.get('relationship'),
    description: fields.get('desc'),
    type: fields.get('type'),
  }
}

function locationOf(deps: TrustRouteDeps, trust: Trust): { Location: string } {
  return { Location: trustUrl(urlOf(deps, trust.actorId), trust.relationship, trust.peerId) }
}

/** Anybody may ask; what an asker says of itself is proved by a call to where it says it is. */
async function receive(deps: TrustRouteDeps, exchange: OpenExchange): Promise<Answer> {
  const { actor, params, request } = exchange
  const body = await readJson(request, deps.config)
  const { trust, mintedSecret, keepsOwn } = await deps.trusts.receive(actor, params['relationship'] ?? '', body)
  return json(
    trust.approved ? 201 : 202,
    {
      ...deps.trusts.shown(trust, 'others'),
      secret: mintedSecret ?? undefined,
      crossing: keepsOwn ? keptOwn : undefined,
    },
    locationOf(deps, trust),
  )
}

/** With one segment it is the peer, whatever the relationship. */
function addressed({ params }: Exchange): { readonly peerId: string; readonly relationship: string | null } {
  const { relationship = '', peerid } = params
  return peerid === undefined ? { peerId: relationship, relationship: null } : { peerId: peerid, relationship }
}

async function get(deps: TrustRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { actor, caller, query } = exchange
  const { peerId, relationship } = addressed(exchange)
  const trust = await deps.trusts.require(actor.id, peerId, relationship)
  const wantsPermissions = query.get('permissions') === 'true'
  const view = wantsPermissions ? await deps.permissions.find(actor.id, peerId) : null
  return json(trust.approved ? 200 : 202, {
    ...deps.trusts.shown(trust, audience(caller, trust)),
    ...(wantsPermissions ? { permissions: view?.override?.rules ?? null } : {}),
  })
}

async function notified(deps: TrustRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { actor, params, request } = exchange
  const what = 'take this notice'
  const fields = requestFieldsOf(await readJson(request, deps.config), what)
  const { relationship = '', peerid = '' } = params
  await deps.trusts.require(actor.id, peerid, relationship)
  if (fields.get('approved') === 'true') await deps.trusts.approvedByPeer(actor, peerid, relationship)
  return noContent()
}

async function change(deps: TrustRouteDeps, exchange: ActorExchange): Promise<Answer> {
  const { actor, caller, request } = exchange
  const { peerId, relationship } = addressed(exchange)
  const { permissions, ...wanted } = parseTrustChange(await readJson(request, deps.config))
  // The secret goes to that address, and nobody but the owner is shown it.
  if (wanted.baseuri !== undefined && deps.permission.isRuled(caller)) {
    throw new ServiceError('forbidden', 'Cannot change the address of the peer: only the owner may')
  }
  if (permissions !== undefined) readOverride(permissions)
  const trust = await deps.trusts.require(actor.id, peerId, relationship)
  // Rights come before the approval that puts them into force.
  if (permissions !== undefined) {
    await deps.permissions.override(trust, permissions, caller)
  }
  await deps.trusts.change(actor, peerId, relationship, wanted)
  return done(deps, exchange)
}

/**
 * What does not exist is 404 for everybody, before credentials count: a peer whose secret went with the relationship
 * has to learn that it is gone.
 */
async function remove(deps: TrustRouteDeps, exchange: OpenExchange): Promise<Answer> {
  const { actor, query } = exchange
  const { peerId, relationship } = addressed(exchange)
  if (peerId === actor.id) {
    throw new ServiceError('bad_request', 'Cannot end this relationship: an actor has none with itself')
  }
  await deps.trusts.require(actor.id, peerId, relationship)
  const caller = await exchange.authorised()
  const byPeer = caller.kind === 'peer' && caller.peerId === peerId
  await deps.trusts.delete(actor, peerId, relationship, { byPeer, tell: !byPeer && query.get('peer') !== 'true' })
  return done(deps, exchange)
}

/** A page's link that stands for another method leads back to the page. */
function done(deps: TrustRouteDeps, { request, params }: Exchange): Answer {
  return request.method === 'GET' ? redirect(302, `${urlOf(deps, params['actor'] ?? '')}/www/trust`) : noContent()
}
