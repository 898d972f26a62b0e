/** `/docs`: the API for people, from the OpenAPI document. */
import { referenceGroups } from './operations.ts'
import type { ReferenceValues } from './values.ts'
import { inLanguage, type SiteDeps, siteValues } from '../shared/site.ts'
import type { View } from '../shared/values.ts'
import { type HttpResponse, html } from '../../http/edge/response.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Exchange, Route } from '../../http/dispatch/route.ts'
import { pageResponses } from '../../http/dispatch/schemas.ts'

export interface ReferenceRouteDeps extends SiteDeps {
  readonly baseUrl: string
  readonly pages: { readonly reference: View<ReferenceValues> }
}

/** @param openApi Returns the OpenAPI document, generated at the first request. */
export function referenceRoutes(deps: ReferenceRouteDeps, openApi: () => string): readonly Route[] {
  let groups: ReferenceValues['groups'] | undefined
  return [
    defineRoute({
      id: 'reference',
      method: 'GET',
      path: '/docs',
      access: 'service',
      summary: 'The API as a page',
      responses: { 200: pageResponses[200] },
      handler: (exchange) => show(deps, exchange, (groups ??= referenceGroups(openApi()))),
    }),
  ]
}

async function show(
  deps: ReferenceRouteDeps,
  { request }: Exchange,
  groups: ReferenceValues['groups'],
): Promise<HttpResponse> {
  const language = deps.languages.of(request)
  const page = await deps.pages.reference({
    ...siteValues(deps, language),
    document_url: `${deps.basePath}/openapi.json`,
    service_url: deps.baseUrl,
    groups,
  })
  return inLanguage(html(200, page), language)
}
