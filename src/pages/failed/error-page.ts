/** Renders an error as a page, with the status of the error. */
import type { ServiceError } from '../../errors.ts'
import { errorResponse } from '../../http/edge/error-response.ts'
import { type HttpResponse, html } from '../../http/edge/response.ts'
import { plainHttpWarning, type ServedAt } from '../../config/plain-http.ts'
import { browserOf } from '../../http/edge/cookies/cookies.ts'
import type { Log } from '../../observe/log.ts'
import type { HttpRequest } from '../../http/edge/request.ts'
import { explained, errorText } from '../shared/error-text.ts'
import { inLanguage, type SiteDeps, siteValues } from '../shared/site.ts'
import type { FailedValues, Html } from '../shared/values.ts'

export interface ErrorPageDeps extends SiteDeps, ServedAt {
  readonly pages: { readonly failed: (values: FailedValues) => Html }
  readonly log: Log
}

/**
 * Renders an error page. Falls back to JSON when the page itself fails.
 *
 * @param about `actorId` is the actor whose page was requested; null for any other page.
 */
export async function errorPage(
  error: ServiceError,
  deps: ErrorPageDeps,
  about: { readonly request: HttpRequest; readonly requestId: string; readonly actorId: string | null },
): Promise<HttpResponse> {
  const language = deps.languages.of(about.request)
  const asData = errorResponse(error)
  const { 'Content-Type': _type, ...headers } = asData.headers
  try {
    const page = await deps.pages.failed({
      ...siteValues(deps, language),
      error: errorText(withoutCookie(error, deps, about.request), language),
      status_code: error.status,
      request_id: about.requestId,
      back: about.actorId === null ? `${deps.basePath}/` : `${deps.basePath}/${about.actorId}/www`,
      is_actor_page: about.actorId !== null,
    })
    return inLanguage(html(error.status, page, headers), language)
  } catch (cause) {
    deps.log.error({ error: cause }, 'Cannot render the error page')
    return asData
  }
}

/** The error with the likely cause, when the browser must have a cookie of this service and sent none. */
function withoutCookie(error: ServiceError, deps: ErrorPageDeps, request: HttpRequest): ServiceError {
  if (error.detail.needsBrowser !== true || browserOf(request) !== null) return error
  const needsHttps = plainHttpWarning(deps) !== null
  return explained(error, ({ signInErrors }) => (needsHttps ? signInErrors.cookieNeedsHttps : signInErrors.noCookie))
}
