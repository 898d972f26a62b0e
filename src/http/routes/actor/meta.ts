/** `/<actor>/meta`: the public facts about an actor. */
import type { Actor } from '../../../actor/actor.ts'
import { identityOfActor } from '../../../app/kinds/actor-identity.ts'
import type { Registry } from '../../../app/registry.ts'
import type { Identity } from '../../../app/identity.ts'
import type { Config } from '../../../config/options.ts'
import { quoted, ServiceError } from '../../../errors.ts'
import { type HttpResponse, json, text } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { Route } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import type { Relationships } from '../../../trust/relationships.ts'

const protocolVersion = '1.0'
const formats = 'json'

/** Option tags of the protocol that this release serves. */
const supported = [
  'actions',
  'callbackcompression',
  'callbacks',
  'listproperties',
  'methods',
  'moving',
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

export interface MetaRouteDeps {
  readonly identity: Identity
  readonly registry: Pick<Registry, 'of'>
  readonly relationships: Relationships
  readonly config: Pick<Config, 'relationship'>
}

export function metaRoutes(deps: MetaRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getMeta',
      method: 'GET',
      path: '/:actor/meta',
      access: 'public',
      summary: 'Returns public facts about the actor and the service',
      responses: { 200: { text: 'The facts', schema: { type: 'object' } }, ...errorResponses(404) },
      handler: ({ actor }) => json(200, facts(deps, actor)),
    }),
    defineRoute({
      id: 'getMetaValue',
      method: 'GET',
      path: '/:actor/meta/*',
      access: 'public',
      summary: 'Returns one public fact',
      responses: {
        200: { text: 'The bare value, or JSON for trust types', type: 'text/plain' },
        ...errorResponses(404),
      },
      handler: ({ actor, rest }) => value(deps, actor, rest.join('/')),
    }),
  ]
}

function facts(deps: MetaRouteDeps, actor: Actor): object {
  const identity = identityOfActor(deps, actor)
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
    aw_trust_types: deps.relationships.types.all().map(({ name }) => name),
  }
}

function value(deps: MetaRouteDeps, actor: Actor, path: string): HttpResponse {
  const identity = identityOfActor(deps, actor)
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
        deps.relationships.types.all().map(({ name, display_name, description }) => ({
          name,
          display_name,
          description,
          created_by: deps.relationships.types.isBuiltIn(name) ? 'system' : 'application',
        })),
      )
    case 'trusttypes':
      return json(200, {
        trust_types: Object.fromEntries(
          deps.relationships.types
            .all()
            .map(({ name, display_name, description }) => [name, { display_name, description }]),
        ),
        default_trust_type: deps.config.relationship,
      })
    default:
      throw new ServiceError('not_found', `Cannot find the meta value ${quoted(path)}: it does not exist`)
  }
}
