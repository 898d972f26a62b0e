/** `/<actor>/trust`: relationships with other actors. */
import type { Caller } from '../../../caller.ts'
import { ServiceError } from '../../../errors.ts'
import { hintField, jsonField, optional, plainStringField, stringField, type ValuesOf } from '../../../json/fields.ts'
import type { JsonText } from '../../../json/json.ts'
import type { TrustActs } from '../../../trust/acts/trust-acts.ts'
import type { Permissions } from '../../../trust/permissions.ts'
import { incomingRequestSchema, keptOwn } from '../../../trust/handshake/incoming-request.ts'
import { trustChangeFields } from '../../../trust/trust-change.ts'
import { trustUrl } from '../../../trust/baseuri.ts'
import { recordTime } from '../../../trust/record.ts'
import type { Trust } from '../../../trust/trust.ts'
import type { Audience, Trusts } from '../../../trust/trusts.ts'
import { pagedJson } from '../../edge/paged-json.ts'
import { type HttpResponse, json, noContent, redirect } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { FreshSignInDeps } from '../../dispatch/fresh-sign-in.ts'
import { jsonBody, jsonOrForm, parsedBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Exchange, OpenExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, trustSchema, writeErrors } from '../../dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'
import { type TrusteeRouteDeps, trusteeRoutes } from './trustee.ts'
import { authorizedOrGone } from './stale-secret.ts'

const path = '/:actor/trust'
const ofPeer = `${path}/:relationship/:peerid` as const

const filterQuery = {
  relationship: optional(stringField('Only those of this name')),
  type: optional(stringField('Only those with actors of this application type')),
  peerid: optional(stringField('Only the one with this peer')),
}
const wishFields = {
  url: stringField('The other actor'),
  relationship: optional(stringField('The configured default unless given')),
  desc: optional(plainStringField('The description by the owner')),
  type: optional(stringField('The required application type of the actor')),
}
const viewQuery = {
  permissions: hintField('`true` adds what the owner granted or withdrew beyond the trust type', ['true']),
}
const endQuery = { peer: hintField('`true`: the peer is not notified', ['true']) }
const noticeFields = {
  approved: optional(jsonField('`true`: the owner of the peer approved. Anything else is ignored')),
}
const changeBody = jsonBody('change this relationship', trustChangeFields)

const record = { text: 'The relationship', schema: trustSchema }
const states = {
  200: { ...record, text: 'The relationship, approved here' },
  202: 'The relationship, not approved here',
}

export interface TrustRouteDeps extends TrusteeRouteDeps, BaseUrl, FreshSignInDeps {
  readonly trusts: Trusts
  readonly trustActs: TrustActs
  readonly permissions: Permissions
  /** OAuth clients by id, with the ends of their access in Unix milliseconds. */
  readonly clients: {
    registered(clientIds: readonly string[]): Promise<ReadonlyMap<string, { readonly until: number | null }>>
  }
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
    defineRoute({
      id: 'listTrusts',
      method: 'GET',
      path,
      access: 'trust',
      summary: 'The relationships of the actor',
      query: filterQuery,
      responses: { 200: { text: 'The relationships', schema: { type: 'array', items: trustSchema } }, ...actorErrors },
      handler: (exchange) => list(deps, exchange),
    }),
    defineRoute({
      id: 'requestTrust',
      method: 'POST',
      path,
      access: 'trust',
      freshSignIn: 'all',
      showsSecret: true,
      summary: 'Requests a relationship with another actor',
      request: jsonOrForm('ask for this relationship', wishFields, { orQuery: true }),
      responses: { 201: record, ...errorResponses(408), ...writeErrors },
      handler: async (exchange) => ask(deps, exchange, await exchange.body()),
    }),
  ]
}

function namedRoutes(deps: TrustRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getTrustsNamed',
      method: 'GET',
      path: `${path}/:relationship`,
      access: 'trust',
      owner: { param: 'relationship', standing: 'approved' },
      summary: 'The relationships of this name; a peer that names itself gets its own',
      responses: { 200: { text: 'A list, or the one record', schema: { type: ['array', 'object'] } }, ...actorErrors },
      handler: (exchange) => listNamed(deps, exchange),
    }),
    defineRoute({
      id: 'receiveTrust',
      method: 'POST',
      path: `${path}/:relationship`,
      access: 'open',
      limit: ['trust_request/pair', 'trust_request/source', 'trust_request/target', 'trust_request/total'],
      summary: 'Receives a relationship request of another actor',
      request: parsedBody(incomingRequestSchema, (body) => body, { lone: 'keep' }),
      responses: {
        201: { ...record, text: 'Approved at once' },
        202: 'Waits for approval',
        ...errorResponses(429),
        ...writeErrors,
      },
      handler: async (exchange) => receive(deps, exchange, await exchange.body()),
    }),
  ]
}

function namedChangeRoutes(deps: TrustRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'putTrustNamed',
      method: 'PUT',
      path: `${path}/:relationship`,
      access: 'trust',
      freshSignIn: 'some',
      summary: 'As for one relationship: the segment names the peer',
      request: changeBody,
      responses: { 204: 'Done', ...writeErrors },
      handler: async (exchange) => change(deps, exchange, await exchange.body()),
    }),
    defineRoute({
      id: 'deleteTrustNamed',
      method: 'DELETE',
      path: `${path}/:relationship`,
      access: 'open',
      category: 'trust',
      owner: { param: 'relationship', standing: 'any' },
      summary: 'As for one relationship: the segment names the peer',
      query: endQuery,
      responses: { 204: 'Done', ...actorErrors },
      handler: (exchange) => remove(deps, exchange),
    }),
  ]
}

function peerRoutes(deps: TrustRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getTrust',
      method: 'GET',
      path: ofPeer,
      access: 'trust',
      owner: { param: 'peerid', standing: 'any' },
      summary: 'One relationship, and whether it is approved here',
      query: viewQuery,
      responses: { ...states, ...actorErrors },
      handler: (exchange) => get(deps, exchange),
    }),
    defineRoute({
      id: 'notifyTrust',
      method: 'POST',
      path: ofPeer,
      access: 'trust',
      owner: { param: 'peerid', standing: 'any', exclusive: true },
      summary: 'Receives the approval of the peer’s owner',
      request: jsonBody('take this notice', noticeFields, { lone: 'keep' }),
      responses: { 204: 'Done', ...writeErrors },
      handler: async (exchange) => notified(deps, exchange, (await exchange.body()).approved === 'true'),
    }),
    defineRoute({
      id: 'putTrust',
      method: 'PUT',
      path: ofPeer,
      access: 'trust',
      freshSignIn: 'some',
      summary: 'Approves a relationship, withdraws the approval, or changes what is known of the peer',
      request: changeBody,
      responses: { 204: 'Done', ...writeErrors },
      handler: async (exchange) => change(deps, exchange, await exchange.body()),
    }),
    defineRoute({
      id: 'deleteTrust',
      method: 'DELETE',
      path: ofPeer,
      access: 'open',
      category: 'trust',
      owner: { param: 'peerid', standing: 'any' },
      summary: 'Ends a relationship immediately and notifies the peer in the background',
      query: endQuery,
      responses: { 204: 'Ended', ...errorResponses(400), ...actorErrors },
      handler: (exchange) => remove(deps, exchange),
    }),
  ]
}

/** Returns the audience, which decides the visible fields of a record. */
function audience({ freshSignIn }: TrustRouteDeps, caller: Caller, trust: Trust): Audience {
  // The secret makes its holder the peer for good, so an old session may not read it.
  if (caller.kind === 'creator') return freshSignIn.isFresh(caller) ? 'owner' : 'old session'
  return caller.kind === 'peer' && caller.peerId === trust.peerId ? 'peer' : 'others'
}

async function list(
  deps: TrustRouteDeps,
  { actor, caller, query: { peerid: peerId, ...filter } }: ActorExchange<never, ValuesOf<typeof filterQuery>>,
): Promise<HttpResponse> {
  return pagedJson(pagesShown(deps, caller, deps.trusts.pages(actor.id, { ...filter, peerId })))
}

async function* pagesShown(
  deps: TrustRouteDeps,
  caller: Caller,
  pages: AsyncIterable<readonly Trust[]>,
): AsyncGenerator<readonly object[]> {
  for await (const page of pages) yield await shownTo(deps, caller, page)
}

/** The records of relationships, for the owner with the ends of OAuth clients. */
async function shownTo(deps: TrustRouteDeps, caller: Caller, all: readonly Trust[]): Promise<readonly object[]> {
  const { trusts, clients } = deps
  const ids = caller.kind === 'creator' ? all.flatMap(({ facts }) => facts.oauth_client_id ?? []) : []
  const found = ids.length === 0 ? null : await clients.registered(ids)
  return all.map((trust) => {
    const until = found?.get(trust.facts.oauth_client_id ?? '')?.until ?? null
    const end = until === null ? {} : { client_until: recordTime(until) }
    return { ...trusts.shown(trust, audience(deps, caller, trust)), ...end }
  })
}

/**
 * Lists the relationships of a name. A peer without subscriptions queries its own id here to check that the relationship
 * still exists: it keeps its side only if it gets the record.
 */
async function listNamed(
  deps: TrustRouteDeps,
  { actor, caller, params: { relationship: name } }: ActorExchange<'relationship'>,
): Promise<HttpResponse> {
  if (caller.kind === 'peer' && caller.peerId === name) {
    const trust = await deps.trusts.require(actor.id, name, null)
    return json(200, deps.trusts.shown(trust, 'peer'))
  }
  return pagedJson(pagesShown(deps, caller, deps.trusts.pages(actor.id, { relationship: name })))
}

async function ask(
  deps: TrustRouteDeps,
  exchange: ActorExchange,
  { desc: description, ...wish }: ValuesOf<typeof wishFields>,
): Promise<HttpResponse> {
  const trust = await deps.trustActs.request(exchange, { ...wish, description })
  return json(201, deps.trusts.shown(trust, audience(deps, exchange.caller, trust)), locationOf(deps, trust))
}

function locationOf(deps: TrustRouteDeps, trust: Trust): { Location: string } {
  return { Location: trustUrl(urlOf(deps, trust.actorId), trust.relationship, trust.peerId) }
}

/** Receives a relationship request of any client. A call to the claimed URL verifies the requester. */
async function receive(
  deps: TrustRouteDeps,
  { actor, params: { relationship } }: OpenExchange<'relationship'>,
  body: JsonText,
): Promise<HttpResponse> {
  const { trust, mintedSecret, keepsOwn } = await deps.trusts.receive(actor, relationship, body)
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

interface OfPeer {
  readonly params: { readonly actor: string; readonly relationship: string; readonly peerid?: string }
}

/** Reads the path. A single segment is the peer id, for any relationship. */
function addressed({ params }: OfPeer): { readonly peerId: string; readonly relationship: string | null } {
  const { relationship, peerid: peerId } = params
  return peerId === undefined ? { peerId: relationship, relationship: null } : { peerId, relationship }
}

async function get(
  deps: TrustRouteDeps,
  exchange: ActorExchange<'actor' | 'relationship' | 'peerid', ValuesOf<typeof viewQuery>>,
): Promise<HttpResponse> {
  const { actor, caller, query } = exchange
  const { peerId, relationship } = addressed(exchange)
  const trust = await deps.trusts.require(actor.id, peerId, relationship)
  const wantsPermissions = query.permissions === 'true'
  const view = wantsPermissions ? await deps.permissions.find(actor.id, peerId) : null
  const [shown] = await shownTo(deps, caller, [trust])
  return json(trust.approved ? 200 : 202, {
    ...shown,
    ...(wantsPermissions ? { permissions: view?.override?.rules ?? null } : {}),
  })
}

async function notified(
  deps: TrustRouteDeps,
  { actor, params: { relationship, peerid } }: ActorExchange<'relationship' | 'peerid'>,
  isApproved: boolean,
): Promise<HttpResponse> {
  await deps.trusts.require(actor.id, peerid, relationship)
  if (isApproved) await deps.trusts.approvedByPeer(actor, peerid, relationship)
  return noContent()
}

async function change(
  deps: TrustRouteDeps,
  exchange: Pick<ActorExchange, 'actor' | 'caller' | 'request'> & OfPeer,
  { desc: description, approved_until: approvedUntil, ...sent }: ValuesOf<typeof trustChangeFields>,
): Promise<HttpResponse> {
  await deps.trustActs.change(exchange, addressed(exchange), { ...sent, description, approvedUntil })
  return done(deps, exchange)
}

/** Ends a relationship. A peer whose secret was deleted with it learns that it no longer exists. */
async function remove(
  deps: TrustRouteDeps,
  exchange: Pick<
    OpenExchange<never, ValuesOf<typeof endQuery>>,
    'actor' | 'authenticated' | 'authorized' | 'query' | 'request'
  > &
    OfPeer,
): Promise<HttpResponse> {
  const { actor, query } = exchange
  const { peerId, relationship } = addressed(exchange)
  if (peerId === actor.id) {
    throw new ServiceError('bad_request', 'Cannot end this relationship: an actor has none with itself')
  }
  const requireStored = (): Promise<unknown> => deps.trusts.require(actor.id, peerId, relationship)
  const caller = await authorizedOrGone(exchange, requireStored)
  await deps.trustActs.end({ actor, caller }, { peerId, relationship }, { notify: query.peer !== 'true' })
  return done(deps, exchange)
}

/** Redirects a page link with `_method` back to the page. */
function done(deps: TrustRouteDeps, { request, params }: Pick<Exchange, 'request'> & OfPeer): HttpResponse {
  return request.method === 'GET' ? redirect(302, `${urlOf(deps, params.actor)}/www/trust`) : noContent()
}
