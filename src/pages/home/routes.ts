/** Routes of `/<actor>/www`: the overview, and pages that the application defines. */
import { ServiceError } from '../../errors.ts'
import { type HttpResponse, json } from '../../http/edge/response.ts'
import { pageValues, showPage } from '../shared/page.ts'
import { maxQueryFields, Params } from '../../http/edge/params.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { answerOf } from '../../http/dispatch/handler-response.ts'
import type { PageExchange, Route } from '../../http/dispatch/route.ts'
import { errorResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import type { Operations } from '../../operation/operations.ts'
import type { View, ActorPageValues } from '../shared/values.ts'
import { type OverviewDeps, showOverview } from './overview-page.ts'

export interface HomePageDeps extends OverviewDeps {
  readonly operations: Operations
  readonly pages: OverviewDeps['pages'] & {
    readonly init: View<ActorPageValues>
    readonly find: (name: string) => View<Readonly<Record<string, unknown>>> | null
  }
}

export function homePageRoutes(deps: HomePageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'dashboard',
      method: 'GET',
      path: '/:actor/www',
      access: 'www',
      summary: 'The actor at a glance',
      responses: pageResponses,
      handler: (exchange) => showOverview(deps, exchange),
    }),
    defineRoute({
      id: 'firstSteps',
      method: 'GET',
      path: '/:actor/www/init',
      access: 'www',
      summary: 'First steps with a new actor',
      responses: pageResponses,
      handler: async (exchange) => showPage(deps, exchange, deps.pages.init(await pageValues(deps, exchange, '/init'))),
    }),
    defineRoute({
      id: 'ownPage',
      method: 'GET',
      path: '/:actor/www/*',
      access: 'www',
      summary: 'An application-defined page',
      responses: pageResponses,
      handler: (exchange) => own(deps, exchange, Params.parse(exchange.request.query, maxQueryFields, 'query')),
    }),
    defineRoute({
      id: 'ownPageForm',
      method: 'POST',
      path: '/:actor/www/*',
      access: 'www',
      summary: 'A form on an application-defined page',
      // The application interprets the fields.
      request: pageForm(),
      responses: { ...pageResponses, ...errorResponses(400, 413, 415) },
      handler: async (exchange) => own(deps, exchange, await exchange.body()),
    }),
  ]
}

/** Renders a page that the application defines. */
async function own(deps: HomePageDeps, exchange: PageExchange, fields: Params): Promise<HttpResponse> {
  const { actor, caller, rest, request } = exchange
  const path = rest.join('/')
  const method = request.method === 'POST' ? 'POST' : 'GET'
  const found = await deps.operations.page(
    { actor, caller },
    { path, method, fields: Object.fromEntries(fields.entries) },
  )
  if (found === null) throw new ServiceError('not_found', 'The page does not exist')
  if (found.kind === 'data') return json(200, found.data)
  if (found.kind === 'response') return answerOf(found.response, { isPage: true })
  const page = deps.pages.find(found.template)
  if (page === null)
    throw new ServiceError('server_error', undefined, { reason: `No page is called ${found.template}` })
  const values = await pageValues(deps, exchange, `/${rest.map(encodeURIComponent).join('/')}`)
  return showPage(deps, exchange, page({ ...values, ...found.data }))
}
