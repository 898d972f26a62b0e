/** The permissions of peers: the owner's endpoints below a relationship, and the peer's own view. */
import { ServiceError } from '../../../errors.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import type { JsonText } from '../../../json/json.ts'
import { overrideSchema, type Permissions, type PermissionsView, wireRules } from '../../../trust/permissions.ts'
import type { TrustOfPeer } from '../../../trust/acts/trust-acts.ts'
import type { RightsActs } from '../../../trust/acts/rights-acts.ts'
import { pagedJson } from '../../edge/paged-json.ts'
import { type HttpResponse, json, noContent } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { parsedBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, writeErrors } from '../../dispatch/schemas.ts'

const explainQuery = {
  explain: optional(
    stringField(
      '`<operation>:<target>` or `<category>.<operation>:<target>` (owner only): whether the peer may, by which rule, and what would change it',
    ),
  ),
}
const path = '/:actor/trust/:relationship/:peerid/permissions'

export interface PermissionRouteDeps {
  readonly permissions: Permissions
  readonly rightsActs: RightsActs
}

export function permissionRoutes(deps: PermissionRouteDeps): readonly Route[] {
  return [...overrideRoutes(deps), ...grantedRoutes(deps)]
}

function overrideRoutes(deps: PermissionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getPermissions',
      method: 'GET',
      path,
      access: 'trust',
      summary: 'What the peer may do: the trust type’s rules with the owner’s override',
      responses: { 200: { text: 'The effective permissions', schema: overrideSchema }, ...actorErrors },
      handler: async (exchange) => json(200, ownersView(await viewOf(deps, exchange))),
    }),
    defineRoute({
      id: 'putPermissions',
      method: 'PUT',
      path,
      access: 'trust',
      freshSignIn: 'all',
      summary: 'Replaces categories of the override; `"merge": false` in one lets its grants stand alone',
      // The override is kept as it was sent.
      request: parsedBody(overrideSchema, (body) => body),
      responses: { 200: 'Changed', 201: 'The first override', ...writeErrors },
      handler: async (exchange) => put(deps, exchange, await exchange.body()),
    }),
    defineRoute({
      id: 'deletePermissions',
      method: 'DELETE',
      path,
      access: 'trust',
      // The override may have withdrawn what the trust type grants.
      freshSignIn: 'all',
      summary: 'Removes the override',
      responses: { 204: 'Removed', ...actorErrors },
      handler: async (exchange) => {
        await deps.rightsActs.reset(exchange, ofPeer(exchange))
        return noContent()
      },
    }),
  ]
}

function grantedRoutes(deps: PermissionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getSharedProperties',
      method: 'GET',
      path: '/:actor/trust/:relationship/:peerid/shared_properties',
      access: 'trust',
      owner: { param: 'peerid', standing: 'approved', exclusive: true },
      summary: 'What the calling peer may subscribe to',
      responses: { 200: { text: 'The properties', schema: { type: 'object' } }, ...actorErrors },
      handler: (exchange) => shared(deps, exchange),
    }),
    defineRoute({
      id: 'getGrantedPermissions',
      method: 'GET',
      path: '/:actor/permissions/:peerid',
      access: 'permissions',
      owner: { param: 'peerid', standing: 'approved' },
      summary: 'What the peer was granted: for the peer itself, and for the owner',
      query: explainQuery,
      responses: { 200: { text: 'The permissions', schema: { type: 'object' } }, ...actorErrors },
      handler: (exchange) => granted(deps, exchange),
    }),
  ]
}

type OfPeer = ActorExchange<'relationship' | 'peerid'>

function viewOf(deps: PermissionRouteDeps, { actor, params }: OfPeer): Promise<PermissionsView> {
  return deps.permissions.require(actor.id, params.peerid, params.relationship)
}

function ownersView({ trust, override, effective }: PermissionsView): object {
  return {
    actor_id: trust.actorId,
    peer_id: trust.peerId,
    trust_type: trust.relationship,
    ...wireRules(effective, override === null ? {} : null),
    created_by: override?.createdBy ?? 'system',
    updated_at: override === null ? null : new Date(override.updatedAt).toISOString(),
    notes: override?.notes ?? '',
    is_custom: override !== null,
    source: sourceOf(override),
  }
}

function sourceOf(override: PermissionsView['override']): string {
  return override === null ? 'trust_type_default' : 'custom_override'
}

function ofPeer({ params: { peerid, relationship } }: OfPeer): TrustOfPeer {
  return { peerId: peerid, relationship }
}

async function put(deps: PermissionRouteDeps, exchange: OfPeer, body: JsonText): Promise<HttpResponse> {
  const isFirst = await deps.rightsActs.replace(exchange, ofPeer(exchange), body)
  return { status: isFirst ? 201 : 200, headers: {}, body: null }
}

async function shared(deps: PermissionRouteDeps, { params, actor }: OfPeer): Promise<HttpResponse> {
  const { peerid: peerId, relationship } = params
  return pagedJson(deps.permissions.shared(actor.id, peerId), {
    before: { actor_id: actor.id, peer_id: peerId, relationship },
    name: 'shared_properties',
    // The names of unshared properties are private.
    after: { excluded_properties: [] },
  })
}

async function granted(
  deps: PermissionRouteDeps,
  { params: { peerid: peerId }, query, actor, caller }: ActorExchange<'peerid', ValuesOf<typeof explainQuery>>,
): Promise<HttpResponse> {
  if (caller.kind !== 'creator' && !(caller.kind === 'peer' && caller.peerId === peerId)) {
    throw new ServiceError('forbidden', 'Cannot show these permissions: they are another peer’s')
  }
  const question = query.explain
  if (question !== undefined) {
    if (caller.kind !== 'creator') throw new ServiceError('forbidden', 'Cannot explain: only the owner may ask why')
    return json(200, await deps.permissions.explain(actor.id, peerId, question))
  }
  const { trust, override, effective } = await deps.permissions.require(actor.id, peerId)
  return json(200, {
    actor_id: actor.id,
    peer_id: peerId,
    permissions: wireRules(effective, {}),
    source: sourceOf(override),
    trust_type: trust.relationship,
  })
}
