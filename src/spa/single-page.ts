/** `/<actor>/app`: the single-page application, if one is configured. It signs in and reads data by itself. */
import type { Config } from '../config/options.ts'
import { ServiceError } from '../errors.ts'
import type { HttpResponse } from '../http/edge/response.ts'
import { defineRoute } from '../http/dispatch/define-route.ts'
import type { Exchange, Route } from '../http/dispatch/route.ts'
import { errorResponses } from '../http/dispatch/schemas.ts'
import { fileResponse } from '../http/edge/content/static-files.ts'

export interface SinglePageDeps {
  readonly config: Pick<Config, 'singlePage'>
}

export function singlePageRoutes(deps: SinglePageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'singlePage',
      method: 'GET',
      path: '/:actor/app/*',
      access: 'public',
      page: true,
      summary: 'The single-page application, at every path below `/app`',
      responses: { 200: { text: 'The page of the application', type: 'text/html' }, ...errorResponses(404) },
      handler: (exchange) => indexPage(deps, exchange),
    }),
  ]
}

/** Serves the page. @throws ServiceError `not_found` when no single-page application is configured. */
export async function indexPage(deps: SinglePageDeps, { request }: Exchange): Promise<HttpResponse> {
  const { singlePage } = deps.config
  const answer = singlePage === null ? null : await fileResponse(request, singlePage, ['index.html'])
  if (answer === null) throw new ServiceError('not_found', 'This service has no single-page application')
  return answer
}
