/** `GET /oauth/authorize`: a client asks for the owner’s consent (RFC 6749 section 4.1.1). */
import type { Config } from '../../config/options.ts'
import { otherBaseUrls } from '../../config/other-base-urls.ts'
import { type AuthorizationRequest, judgeAuthorization } from '../../authorization-server/authorization-request.ts'
import type { Client } from '../../authorization-server/client.ts'
import type { Clients } from '../../authorization-server/clients.ts'
import type { Consents } from '../../authorization-server/consents.ts'
import { OAuthError } from '../../authorization-server/oauth-error.ts'
import { optional, stringField } from '../../json/fields.ts'
import type { Purge } from '../../token/purge.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route, VisitorExchange } from '../../http/dispatch/route.ts'
import { errorResponses } from '../../http/dispatch/schemas.ts'
import type { BaseUrl } from '../../http/dispatch/urls.ts'
import { browserCookie } from '../../http/edge/cookies/cookies.ts'
import { type HttpResponse, html } from '../../http/edge/response.ts'
import { backWithError } from './client-redirect.ts'
import { showConsentPage, type ConsentPageDeps } from './consent-page.ts'
import { type OAuthFields, onPage, parseOAuthFields } from '../../http/dispatch/oauth/oauth-response.ts'
import { signedInOwner, type SignedInOwnerDeps } from './signed-in-owner.ts'

export interface AuthorizationRequestDeps extends BaseUrl {
  readonly config: Pick<Config, 'mode' | 'formerBaseUrls'>
  readonly clients: Clients
}

export interface AuthorizeRouteDeps extends AuthorizationRequestDeps, SignedInOwnerDeps, ConsentPageDeps {
  readonly config: AuthorizationRequestDeps['config'] & ConsentPageDeps['config']
  readonly consents: Consents
  readonly purge: Purge
}

export function authorizeRoutes(deps: AuthorizeRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'authorizePage',
      method: 'GET',
      path: '/oauth/authorize',
      access: 'visitor',
      page: true,
      cors: 'page',
      limit: ['authorize/source', 'authorize/total'],
      summary: 'Asks the owner to authorize a client (RFC 6749 section 4.1.1)',
      query: {
        client_id: optional(stringField('Registered, or the address of a metadata document')),
        redirect_uri: optional(stringField('Exactly as registered')),
        response_type: optional(stringField('`code`')),
        state: optional(stringField('Returned unchanged')),
        code_challenge: optional(stringField('RFC 7636')),
        code_challenge_method: optional(stringField('`S256`')),
        scope: optional(stringField('`mcp`, `actor` or both. Default: all scopes of the resource')),
        resource: optional(
          stringField('RFC 8707: `/mcp`, the address of an actor, or the service. Default: the service'),
        ),
        issuer: optional(stringField('Added by the service: the address at which the client knows it')),
      },
      responses: {
        200: { text: 'The page', type: 'text/html' },
        302: 'Back to the client with `error`, `state` and `iss`',
        ...errorResponses(400),
      },
      handler: (exchange) => authorize(deps, exchange),
    }),
  ]
}

async function authorize(deps: AuthorizeRouteDeps, { request, visitor }: VisitorExchange): Promise<HttpResponse> {
  return onPage(request, async () => {
    const judged = await judgeAuthorizationRequest(deps, parseOAuthFields(request.query))
    if ('answer' in judged) return judged.answer
    const mark = browserCookie(request)
    // HEAD must not start a request for consent.
    if (request.method === 'HEAD') return html(200, '')
    const { client, asked } = judged
    const owner = await signedInOwner(deps, visitor)
    const consent = await deps.consents.ask(asked, owner?.id ?? null, mark.value)
    deps.purge.occasionally()
    const language = deps.languages.of(request)
    return { ...(await showConsentPage(deps, { client, asked, owner, consent, language })), cookies: [mark.cookie] }
  })
}

/** Returns the valid request, or the error redirect to the client. @throws OAuthError when no redirect is safe */
export async function judgeAuthorizationRequest(
  deps: AuthorizationRequestDeps,
  fields: OAuthFields,
): Promise<{ readonly answer: HttpResponse } | { readonly client: Client; readonly asked: AuthorizationRequest }> {
  const clientId = fields.get('client_id')
  if (fields.repeated === null && clientId === undefined)
    throw new OAuthError('invalid_request', 'client_id is missing')
  const client = fields.repeated === null ? await deps.clients.find(clientId ?? '') : null
  const own = { baseUrl: deps.baseUrl, otherBaseUrls: otherBaseUrls(deps) }
  const judged = judgeAuthorization(fields, client, own)
  if (judged.kind === 'redirect')
    return { answer: backWithError(judged.issuer ?? deps.baseUrl, judged.redirectUri, judged.state, judged.error) }
  if (client === null) throw new OAuthError('invalid_request', 'The client is not known here')
  return { client, asked: judged.request }
}
