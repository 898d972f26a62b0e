/** Redirects back to the client (RFC 6749 sections 4.1.2 and 4.1.2.1, RFC 9207). */
import type { Actor } from '../../../actor/actor.ts'
import type { Consents, GivenConsent } from '../../../authorization-server/consents.ts'
import { OAuthError } from '../../../authorization-server/oauth-error.ts'
import { withParameters } from '../../../authorization-server/redirect-uri.ts'
import type { BaseUrl } from '../../dispatch/urls.ts'
import { type HttpResponse, redirect } from '../../edge/response.ts'

export interface ClientRedirectDeps extends BaseUrl {
  readonly consents: Consents
}

export async function backWithCode(
  deps: ClientRedirectDeps,
  owner: Actor,
  given: GivenConsent,
  status: 302 | 303,
): Promise<HttpResponse> {
  const { redirectUri, state } = given.request
  try {
    const code = await deps.consents.issueCode(owner, given)
    return redirect(status, withParameters(redirectUri, { code, state, iss: deps.baseUrl }))
  } catch (error) {
    if (!(error instanceof OAuthError) || error.code !== 'invalid_target') throw error
    return backWithError(deps.baseUrl, redirectUri, state, error, status)
  }
}

export function backWithError(
  issuer: string,
  redirectUri: string,
  state: string | null,
  { code, message }: OAuthError,
  status: 302 | 303 = 302,
): HttpResponse {
  const parameters = { error: code, error_description: message, state, iss: issuer }
  return redirect(status, withParameters(redirectUri, parameters))
}
