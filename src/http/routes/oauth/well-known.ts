/** Documents that clients look for before they come (RFC 8414, RFC 9728), at every spelling that they try. */
import { authorizationServerMetadata, protectedResourceMetadata } from '../../../authorization-server/discovery.ts'
import { json } from '../../edge/response.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { anyValue } from '../../dispatch/schemas.ts'

const document = { 200: { text: 'The document', schema: anyValue } }

/** Documents may be kept for a while, by anybody. */
const kept = { 'Cache-Control': 'public, max-age=300' }

function row(id: string, path: string, summary: string, handler: (exchange: Exchange) => object): Route {
  return {
    id,
    method: 'GET',
    path,
    access: 'service',
    cors: 'discovery',
    summary,
    responses: document,
    handler: (exchange) => json(200, handler(exchange), kept),
  }
}

const server = ({ parts }: Exchange): object => authorizationServerMetadata(parts.baseUrl)
const resource = ({ parts }: Exchange): object =>
  protectedResourceMetadata(parts.baseUrl, `${parts.baseUrl}/mcp`, parts.identity.name)

export const wellKnownRoutes: readonly Route[] = [
  row('authorizationServer', '/.well-known/oauth-authorization-server', 'The authorization server (RFC 8414)', server),
  row('authorizationServerOfMcp', '/.well-known/oauth-authorization-server/mcp', 'As the one without the path', server),
  row('protectedResource', '/.well-known/oauth-protected-resource', 'The resource of AI clients (RFC 9728)', resource),
  row('protectedResourceOfMcp', '/.well-known/oauth-protected-resource/mcp', 'As the one without the path', resource),
]
