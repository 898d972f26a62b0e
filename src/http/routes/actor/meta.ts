/** `/<actor>/meta`: what everybody may know about an actor. */
import type { Actor } from '../../../actor/actor.ts'
import { ServiceError } from '../../../errors.ts'
import { type Answer, json, text } from '../../edge/response.ts'
import type { Parts } from '../../dispatch/parts.ts'
import type { Route } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'

const protocolVersion = '1.0'
const formats = 'json'

/** Option tags of the protocol that this release serves. */
const supported = [
  'actions',
  'callbackcompression',
  'callbacks',
  'listproperties',
  'methods',
  'nestedproperties',
  'onewaytrust',
  'permissioncallback',
  'permissionquery',
  'resources',
  'subscriptionresync',
  'subscriptions',
  'trust',
  'trustpermissions',
]

export const metaRoutes: readonly Route[] = [
  {
    id: 'getMeta',
    method: 'GET',
    path: '/:actor/meta',
    access: 'public',
    summary: 'Public facts about the actor and the service',
    responses: { 200: { text: 'The facts', schema: { type: 'object' } }, ...errorResponses(404) },
    handler: ({ parts, actor }) => json(200, facts(parts, actor)),
  },
  {
    id: 'getMetaValue',
    method: 'GET',
    path: '/:actor/meta/*',
    access: 'public',
    summary: 'One of those facts',
    responses: { 200: { text: 'The bare value, or JSON for trust types', type: 'text/plain' }, ...errorResponses(404) },
    handler: ({ parts, actor, rest }) => value(parts, actor, rest.join('/')),
  },
]

function facts(parts: Parts, actor: Actor): object {
  const { identity } = parts
  return {
    id: actor.id,
    type: identity.type,
    version: identity.version,
    desc: identity.description,
    info: identity.info,
    trustee_root: actor.trusteeRoot ?? '',
    specification: identity.specification,
    aw_version: protocolVersion,
    aw_supported: supported.join(','),
    aw_formats: formats,
    aw_trust_types: parts.relationships.types.all().map(({ name }) => name),
  }
}

function value(parts: Parts, actor: Actor, path: string): Answer {
  const { identity } = parts
  switch (path) {
    case 'id':
      return text(200, actor.id)
    case 'type':
      return text(200, identity.type)
    case 'version':
      return text(200, identity.version)
    case 'desc':
      return text(200, identity.description)
    case 'info':
      return text(200, identity.info)
    case 'trustee_root':
      return text(200, actor.trusteeRoot ?? '')
    case 'specification':
      return text(200, identity.specification)
    case 'actingweb/version':
      return text(200, protocolVersion)
    case 'actingweb/supported':
      return text(200, supported.join(','))
    case 'actingweb/formats':
      return text(200, formats)
    case 'actingweb/trust_types':
      return json(
        200,
        parts.relationships.types.all().map(({ name, display_name, description }) => ({
          name,
          display_name,
          description,
          created_by: parts.relationships.types.isBuiltIn(name) ? 'system' : 'application',
        })),
      )
    case 'trusttypes':
      return json(200, {
        trust_types: Object.fromEntries(
          parts.relationships.types
            .all()
            .map(({ name, display_name, description }) => [name, { display_name, description }]),
        ),
        default_trust_type: parts.config.relationship,
      })
    default:
      throw new ServiceError('not_found', `There is no meta value ${JSON.stringify(path.slice(0, 80))}`)
  }
}
