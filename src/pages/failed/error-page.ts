/** Renders an error as a page, with the status of the error. */
import type { Identity } from '../../app/identity.ts'
import type { ServiceError } from '../../errors.ts'
import { errorResponse } from '../../http/edge/error-response.ts'
import { type HttpResponse, html } from '../../http/edge/response.ts'
import type { Log } from '../../observe/log.ts'
import type { FailedValues, Html } from '../shared/values.ts'

export interface ErrorPageDeps {
  readonly pages: { readonly failed: (values: FailedValues) => Html }
  readonly basePath: string
  readonly identity: Identity
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
  about: { readonly requestId: string; readonly actorId: string | null },
): Promise<HttpResponse> {
  const asData = errorResponse(error)
  const { 'Content-Type': _type, ...headers } = asData.headers
  try {
    const page = await deps.pages.failed({
      base_path: deps.basePath,
      name: deps.identity.name,
      error: error.message,
      status_code: error.status,
      request_id: about.requestId,
      back: about.actorId === null ? `${deps.basePath}/` : `${deps.basePath}/${about.actorId}/www`,
      is_actor_page: about.actorId !== null,
    })
    return html(error.status, page, headers)
  } catch (cause) {
    deps.log.error({ error: cause }, 'Cannot render the error page')
    return asData
  }
}
