/** Redirects back to the client (RFC 6749 sections 4.1.2 and 4.1.2.1, RFC 9207). */
import type { Actor } from '../../actor/actor.ts'
import type { AuthorizationRequest } from '../../authorization-server/authorization-request.ts'
import type { ConsentOnPage, Consents } from '../../authorization-server/consents.ts'
import { OAuthError } from '../../authorization-server/oauth-error.ts'
import { shownTarget, withParameters } from '../../authorization-server/redirect-uri.ts'
import { decidedPage, leavingPage } from './leaving-view.ts'
import { inLanguage, type SiteDeps, siteValues } from '../shared/site.ts'
import { visible } from '../shared/visible.ts'
import type { BaseUrl } from '../../http/dispatch/urls.ts'
import type { HttpRequest } from '../../http/edge/request.ts'
import { type HttpResponse, html, redirect } from '../../http/edge/response.ts'

export interface ClientRedirectDeps extends BaseUrl {
  readonly consents: Consents
}

/** @returns null when the page was decided in another way, or its code was used or has expired. */
export async function backWithCode(
  deps: ClientRedirectDeps,
  owner: Actor,
  consent: ConsentOnPage,
  status: 302 | 303,
): Promise<HttpResponse | null> {
  const { redirectUri, state, issuer = deps.baseUrl } = consent.request
  try {
    const code = await deps.consents.issueCode(owner, consent)
    return code === null ? null : redirect(status, withParameters(redirectUri, { code, state, iss: issuer }))
  } catch (error) {
    if (!(error instanceof OAuthError) || error.code !== 'invalid_target') throw error
    return backWithError(issuer, redirectUri, state, error, status)
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

/**
 * Shows a page that continues to the client, in place of a redirect. Chromium applies `form-action` of the page with the form
 * to all redirects after it, also to those of the client: claude.ai answers with 307 to `claude:`, and no policy can name the
 * schemes that a client may use. A page without a form has no such chain, and the policy of the form stays as it is. Programs
 * and old browsers, which do not name a navigation, get the redirect.
 *
 * The target is the validated redirect URI: of a registered client, and never of a scheme that runs code.
 */
export function leavingTo(deps: SiteDeps, request: HttpRequest, answer: HttpResponse): HttpResponse {
  const target = answer.headers['Location']
  if (target === undefined || request.header('sec-fetch-mode') !== 'navigate') return answer
  const language = deps.languages.of(request)
  const { Location: _redirect, ...headers } = answer.headers
  const body = leavingPage(siteValues(deps, language), language, { target, shown: visible(shownTarget(target)) })
  return inLanguage(html(200, body, { ...headers, Refresh: `0; url=${target}` }), language)
}

/** Says that the page was decided before, without a code. The link leads to the site that the consent page named. */
export function alreadyDecided(
  deps: SiteDeps,
  request: HttpRequest,
  { redirectUri }: Pick<AuthorizationRequest, 'redirectUri'>,
): HttpResponse {
  const language = deps.languages.of(request)
  const url = URL.parse(redirectUri)
  const site = url?.protocol === 'https:' ? { target: `${url.origin}/`, shown: visible(url.host) } : null
  return inLanguage(html(200, decidedPage(siteValues(deps, language), language, site)), language)
}
