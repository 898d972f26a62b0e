/** Discovery documents for clients (RFC 8414, RFC 9728), at every URL that clients try. */
import type { Identity } from '../../../app/identity.ts'
import {
  actorResourceMetadata,
  authorizationServerMetadata,
  mcpResourceMetadata,
} from '../../../authorization-server/discovery.ts'
import { parseActorId } from '../../../actor/actor.ts'
import { ServiceError } from '../../../errors.ts'
import type { BaseUrl } from '../../dispatch/urls.ts'
import { json } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { Route } from '../../dispatch/route.ts'
import { anyValue, errorResponses } from '../../dispatch/schemas.ts'

const responses = { 200: { text: 'The document', schema: anyValue } }

/** Every cache may store the documents for five minutes. */
const kept = { 'Cache-Control': 'public, max-age=300' }

/** @param base The other base URL at which the request arrived. Default: `BASE_URL`. */
type Document = (base: string | undefined) => object

function row(id: string, path: string, summary: string, document: Document): Route {
  return defineRoute({
    id,
    method: 'GET',
    path,
    access: 'service',
    cors: 'discovery',
    summary,
    responses,
    // Clients of many makers look here before they come, and OAuth has unrecognized parameters ignored.
    unknownQuery: 'ignored',
    handler: ({ request }) => json(200, document(request.otherBaseUrl), kept),
  })
}

/** Any well-formed id is accepted, so the document does not show whether the actor exists. */
function actorIn({ actor }: { readonly actor: string }): string {
  const id = parseActorId(actor)
  if (id === null)
    throw new ServiceError('not_found', 'Cannot describe this resource: it is not the address of an actor')
  return id
}

export interface WellKnownRouteDeps extends BaseUrl {
  readonly identity: Identity
}

export function wellKnownRoutes({ baseUrl, identity }: WellKnownRouteDeps): readonly Route[] {
  // Clients refuse a document about another URL than the one that they know (RFC 8414 section 3.3, RFC 9728 section 3.3).
  const server: Document = (base = baseUrl) => authorizationServerMetadata(base)
  const resource: Document = (base = baseUrl) => mcpResourceMetadata(base, identity.name)
  return [
    row(
      'authorizationServer',
      '/.well-known/oauth-authorization-server',
      'The authorization server (RFC 8414)',
      server,
    ),
    row(
      'authorizationServerOfMcp',
      '/.well-known/oauth-authorization-server/mcp',
      'The authorization server of /mcp (RFC 8414)',
      server,
    ),
    row(
      'protectedResource',
      '/.well-known/oauth-protected-resource',
      'The resource of AI clients (RFC 9728)',
      resource,
    ),
    row(
      'protectedResourceOfMcp',
      '/.well-known/oauth-protected-resource/mcp',
      'The protected resource /mcp (RFC 9728)',
      resource,
    ),
    defineRoute({
      id: 'protectedResourceOfActor',
      method: 'GET',
      path: '/.well-known/oauth-protected-resource/:actor',
      access: 'service',
      cors: 'discovery',
      summary: 'The addresses of an actor as a protected resource (RFC 9728)',
      responses: { ...responses, ...errorResponses(404) },
      unknownQuery: 'ignored',
      handler: ({ params, request: { otherBaseUrl = baseUrl } }) =>
        json(200, actorResourceMetadata(otherBaseUrl, actorIn(params), identity.name), kept),
    }),
  ]
}
