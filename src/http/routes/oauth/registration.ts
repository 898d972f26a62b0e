/** `/oauth/register`: a client registers itself (RFC 7591). */
import type { Clients } from '../../../authorization-server/clients.ts'
import { OAuthError } from '../../../authorization-server/oauth-error.ts'
import { readRegistration, registrationSchema } from '../../../authorization-server/registration.ts'
import type { Config } from '../../../config/options.ts'
import { type Json, toPlain } from '../../../json/json.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import type { RequestBody } from '../../dispatch/request-body.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { anyValue } from '../../dispatch/schemas.ts'
import type { BaseUrl } from '../../dispatch/urls.ts'
import { readJson, saysJson } from '../../edge/body.ts'
import type { HttpResponse } from '../../edge/response.ts'
import { inOAuthWords, oauthJson } from '../../dispatch/oauth/oauth-response.ts'
import { oauthErrorSchema, oauthRefusals } from '../../dispatch/oauth/oauth-schemas.ts'

/** Anyone may register a client, and the client's metadata is stored. */
const maxRegistrationBytes = 65_536

const registration: RequestBody<Json> = {
  content: { 'application/json': registrationSchema },
  read: async ({ request, bodyLimits }) => {
    if (!saysJson(request)) throw new OAuthError('invalid_request', 'The body must be application/json')
    const maxBodyBytes = Math.min(bodyLimits.maxBodyBytes, maxRegistrationBytes)
    return toPlain(await readJson(request, { ...bodyLimits, maxBodyBytes }))
  },
}

export interface RegistrationRouteDeps extends BaseUrl {
  readonly clients: Clients
  readonly config: Pick<Config, 'clientTrustTypes'>
}

export function registrationRoutes(deps: RegistrationRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'registerClient',
      method: 'POST',
      path: '/oauth/register',
      access: 'service',
      cors: 'server',
      takesForeignPosts: true,
      limit: ['register_client/source', 'register_client/total'],
      summary: 'A client registers itself (RFC 7591)',
      request: registration,
      // OAuth requires servers to ignore unrecognized parameters (RFC 6749 section 3).
      unknownQuery: 'ignored',
      responses: {
        201: { text: 'The client; its secret is shown only here', schema: anyValue },
        413: { text: 'The body is larger than 64 KiB', schema: oauthErrorSchema },
        ...oauthRefusals,
      },
      handler: (exchange) => inOAuthWords(() => register(deps, exchange)),
    }),
  ]
}

async function register(
  deps: RegistrationRouteDeps,
  { request, body }: Exchange & Bodied<Json>,
): Promise<HttpResponse> {
  const wanted = readRegistration(await body(), deps.config.clientTrustTypes)
  const { client, secret } = await deps.clients.register(wanted)
  const { otherBaseUrl: issuer = deps.baseUrl } = request
  return oauthJson(201, {
    client_id: client.clientId,
    client_secret: secret ?? undefined,
    client_secret_expires_at: secret === null ? undefined : 0,
    client_name: client.name,
    redirect_uris: client.redirectUris,
    grant_types: client.grantTypes,
    response_types: ['code'],
    token_endpoint_auth_method: client.authMethod,
    trust_type: client.trustType,
    ...client.metadata,
    created_at: Math.floor(client.createdAt / 1000),
    client_id_issued_at: Math.floor(client.createdAt / 1000),
    actor_id: client.ownerId,
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
  })
}
