/** The page behind a sign-in link of an operator: it shows the account, and its form begins the session. */
import { ServiceError } from '../../errors.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { formBody } from '../../http/dispatch/request-body.ts'
import type { Route, VisitorExchange } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { optional, stringField } from '../../json/fields.ts'
import { type OwnerLinks, ownerLinkPath } from '../../sign-in/owner-links.ts'
import { deviceOf } from '../../token/device.ts'
import { explained } from '../shared/error-text.ts'
import { showPage } from '../shared/page.ts'
import { shownText } from '../shared/peer-names.ts'
import { siteValues } from '../shared/site.ts'
import type { View } from '../shared/values.ts'
import { type SessionResponseDeps, signedIn } from '../sign-in/routes/session-response.ts'
import type { OperatorValuesDeps } from './operator-values.ts'
import type { OwnerLinkValues } from './values.ts'

export interface OwnerLinkDeps extends OperatorValuesDeps, SessionResponseDeps {
  readonly ownerLinks: Pick<OwnerLinks, 'require' | 'use'>
  readonly pages: { readonly ownerLink: View<OwnerLinkValues> }
}

const fields = { code: optional(stringField('Of the link')) }

export function ownerLinkRoutes(deps: OwnerLinkDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'ownerLink',
      method: 'GET',
      path: ownerLinkPath,
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'The page of a link with which an operator lets a locked-out owner sign in. It changes nothing',
      query: fields,
      responses: { ...pageResponses, ...errorResponses(410, 429) },
      handler: async (exchange) => show(deps, exchange, exchange.query.code ?? ''),
    }),
    defineRoute({
      id: 'ownerLinkForm',
      method: 'POST',
      path: ownerLinkPath,
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'Consumes the link (`code`), and begins a session of the owner',
      request: formBody(fields),
      responses: { ...formResponses, ...errorResponses(410, 429) },
      handler: async (exchange) => take(deps, exchange, (await exchange.body()).code ?? ''),
    }),
  ]
}

async function show(deps: OwnerLinkDeps, exchange: VisitorExchange, code: string): Promise<HttpResponse> {
  const { creator } = await onPage(deps.ownerLinks.require(code))
  const page = deps.pages.ownerLink({
    ...siteValues(deps, deps.languages.of(exchange.request)),
    creator: shownText(creator),
    code,
    action: `${deps.basePath}${ownerLinkPath}`,
  })
  return showPage(deps, exchange, page)
}

async function take(deps: OwnerLinkDeps, exchange: VisitorExchange, code: string): Promise<HttpResponse> {
  // A form of another site could sign the browser of a person in to an account that the person did not choose.
  if (exchange.visitor.site !== 'same') throw new ServiceError('forged_request')
  const device = deviceOf(exchange.request.header('user-agent'))
  return signedIn(deps, exchange, await onPage(deps.ownerLinks.use(code, device)), null)
}

async function onPage<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'gone') throw error
    throw explained(error, ({ operator }) => operator.ownerLinkEnded)
  }
}
