/** `/moves/<actor>/claim`: the owner takes an actor that came from another service, by the link of the old one. */
import type { Actors } from '../../../actor/actors.ts'
import { ServiceError } from '../../../errors.ts'
import { optional, stringField } from '../../../json/fields.ts'
import type { ArrivalClaims } from '../../../moving/claims.ts'
import type { ArrivalValues } from '../../../pages/moving/values.ts'
import type { PageSet } from '../../../pages/shared/page-set.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../../pages/shared/site.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { formBody } from '../../dispatch/request-body.ts'
import type { Exchange, Route } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import {
  beginAddress,
  opensPagesByPassphrase,
  type ProviderDeps,
  webProviders,
} from '../../dispatch/sign-in-address.ts'
import type { BaseUrl } from '../../dispatch/urls.ts'
import { type HttpResponse, html } from '../../edge/response.ts'

export interface MoveClaimRouteDeps extends SiteDeps, ProviderDeps, BaseUrl {
  readonly arrivalClaims: Pick<ArrivalClaims, 'findByCode' | 'takeByPassphrase'>
  readonly actors: Pick<Actors, 'find'>
  readonly pages: Pick<PageSet, 'arrival'>
}

const path = '/moves/:actor/claim' as const
const code = optional(stringField('The code of the link'))

export function moveClaimRoutes(deps: MoveClaimRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'moveClaimPage',
      method: 'GET',
      path,
      access: 'visitor',
      page: true,
      limit: ['sign_in/source', 'sign_in/total'],
      summary: 'The ways to sign in to an actor that came from another service',
      query: { code },
      responses: {
        200: { text: 'The page', type: 'text/html' },
        404: { text: 'The page: the link is not valid, or was used', type: 'text/html' },
        ...errorResponses(429),
      },
      handler: (exchange) => show(deps, exchange, exchange.params.actor, exchange.query.code ?? ''),
    }),
    defineRoute({
      id: 'moveClaimForm',
      method: 'POST',
      path,
      access: 'visitor',
      page: true,
      limit: ['sign_in/source', 'sign_in/total'],
      // The code is the credential, and no cookie.
      takesForeignPosts: true,
      summary: 'Gives the actor a new passphrase, where a passphrase opens the pages, and shows it once',
      request: formBody({ code }),
      responses: {
        200: { text: 'The page with the passphrase', type: 'text/html' },
        404: { text: 'The page: the link is not valid, or was used', type: 'text/html' },
        ...errorResponses(403, 415, 429, 503),
      },
      handler: async (exchange) => {
        if (!opensPagesByPassphrase(deps)) throw new ServiceError('forbidden', 'This service has other ways to sign in')
        const { code: sent = '' } = await exchange.body()
        const passphrase = await deps.arrivalClaims.takeByPassphrase(exchange.params.actor, sent)
        return show(deps, exchange, exchange.params.actor, '', passphrase)
      },
    }),
  ]
}

async function show(
  deps: MoveClaimRouteDeps,
  { request }: Exchange,
  actorId: string,
  sent: string,
  passphrase: string | null = null,
): Promise<HttpResponse> {
  const { arrivalClaims, actors, basePath, languages } = deps
  const found = passphrase === null ? await arrivalClaims.findByCode(actorId, sent) : null
  const state = passphrase !== null ? 'taken' : found === null ? 'used' : found.isHere ? 'here' : 'coming'
  const account = `${basePath}/${actorId}/www`
  const wish = { actorId, claim: sent, redirect: `${account}/move` }
  const values: Omit<ArrivalValues, keyof ReturnType<typeof siteValues>> = {
    state,
    from: found?.originUrl ?? '',
    providers: webProviders(deps).map(({ name, displayName }) => ({
      name,
      display_name: displayName,
      url: beginAddress(deps, name, wish),
    })),
    by_passphrase: opensPagesByPassphrase(deps),
    action: `${basePath}/moves/${actorId}/claim`,
    code: sent,
    creator: passphrase === null ? '' : ((await actors.find(actorId))?.creator ?? ''),
    passphrase: passphrase ?? '',
    account_href: account,
  }
  const language = languages.of(request)
  const page = await deps.pages.arrival({ ...siteValues(deps, language), ...values })
  return inLanguage(html(state === 'used' ? 404 : 200, page), language)
}
