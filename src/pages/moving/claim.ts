/** `/moves/<actor>/claim`: the owner takes an actor that came from another service, by the link of the old one. */
import type { Actors } from '../../actor/actors.ts'
import { ServiceError } from '../../errors.ts'
import { optional, stringField } from '../../json/fields.ts'
import type { ArrivalClaims, ReaderChoice } from '../../moving/claims.ts'
import type { ArrivalValues } from './values.ts'
import { errorText, explained } from '../shared/error-text.ts'
import type { PageSet } from '../shared/page-set.ts'
import { inLanguage, type SiteDeps, siteValues } from '../shared/site.ts'
import { visible } from '../shared/visible.ts'
import { sameSecret } from '../../secret/hash.ts'
import type { SignIn } from '../../sign-in/sign-in.ts'
import { antiForgeryValue } from '../../http/dispatch/anti-forgery.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import type { Exchange, Route, VisitorExchange } from '../../http/dispatch/route.ts'
import { errorResponses } from '../../http/dispatch/schemas.ts'
import {
  beginAddress,
  opensPagesByPassphrase,
  type ProviderTargetDeps,
  providerTargets,
  webProviders,
} from '../../http/dispatch/sign-in-address.ts'
import type { BaseUrl } from '../../http/dispatch/urls.ts'
import { browserCookie, browserOf } from '../../http/edge/cookies/cookies.ts'
import type { Params } from '../../http/edge/params.ts'
import { type HttpResponse, html, redirect } from '../../http/edge/response.ts'
import { pagePolicy } from '../../http/edge/security-headers.ts'

export interface MoveClaimRouteDeps extends SiteDeps, ProviderTargetDeps, BaseUrl {
  readonly arrivalClaims: Pick<ArrivalClaims, 'findByCode' | 'readers' | 'chosen' | 'takeByPassphrase'>
  readonly actors: Pick<Actors, 'find'>
  readonly signIn: Pick<SignIn, 'beginOnWeb'>
  readonly pages: Pick<PageSet, 'arrival'>
}

const path = '/moves/:actor/claim' as const
/** Beginning of the name of the field that keeps a reader. Its key follows. */
const keptField = 'keep.'
/** The field `way` of the button that asks for a passphrase. No provider has this name. */
const passphraseWay = ''

export function moveClaimRoutes(deps: MoveClaimRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'moveClaimPage',
      method: 'GET',
      path,
      access: 'visitor',
      page: true,
      limit: ['sign_in/source', 'sign_in/total'],
      summary: 'What came along with an actor from another service, and the ways to sign in to it',
      query: { code: optional(stringField('The code of the link')) },
      responses: {
        200: { text: 'The page', type: 'text/html' },
        404: { text: 'The page: the link is not valid, or was used', type: 'text/html' },
        ...errorResponses(429),
      },
      handler: (exchange) => show(deps, exchange, { code: exchange.query.code ?? '' }),
    }),
    defineRoute({
      id: 'moveClaimForm',
      method: 'POST',
      path,
      access: 'visitor',
      page: true,
      limit: ['sign_in/source', 'sign_in/total'],
      // `requireOwnForm` checks it for every browser, also without a session.
      takesForeignPosts: true,
      summary:
        'Begins the sign-in that takes the actor, or gives it a new passphrase. Only the ticked readers are kept',
      request: pageForm('code', 'way', 'version', 'all'),
      responses: {
        200: { text: 'The page with the passphrase, shown once', type: 'text/html' },
        303: 'To the provider',
        409: { text: 'The page: what came along has changed', type: 'text/html' },
        ...errorResponses(400, 403, 404, 415, 429, 502, 503),
      },
      handler: async (exchange) => submit(deps, exchange, await exchange.body()),
    }),
  ]
}

/** Another site could post the form, with everything kept, and leave only the sign-in to the person. */
function requireOwnForm({ request, visitor }: VisitorExchange, sent: Params): void {
  if (request.method === 'POST' && request.header('sec-fetch-site') === 'same-origin') return
  const browser = browserOf(request)
  const shown = sent.get('csrf_token')
  const isProven = browser !== null && shown !== undefined && sameSecret(shown, antiForgeryValue(browser))
  if (!isProven || visitor.site === 'other')
    throw new ServiceError(
      'forged_request',
      'Cannot take the account: the form was not sent by a page of this service. Open the link again.',
      { needsBrowser: true },
    )
}

async function submit(
  deps: MoveClaimRouteDeps,
  exchange: VisitorExchange<'actor'>,
  sent: Params,
): Promise<HttpResponse> {
  requireOwnForm(exchange, sent)
  const { actor: actorId } = exchange.params
  const [code, way] = [sent.get('code') ?? '', sent.get('way') ?? passphraseWay]
  if ((await deps.arrivalClaims.findByCode(actorId, code)) === null)
    throw new ServiceError('forbidden', 'This link is not valid, or was used')
  try {
    if (way === passphraseWay) return await takeByPassphrase(deps, exchange, code, choiceIn(sent))
    const kept = await deps.arrivalClaims.chosen(actorId, choiceIn(sent))
    const mark = browserCookie(exchange.request)
    const location = await deps.signIn.beginOnWeb({
      provider: way,
      redirect: `${deps.basePath}/${actorId}/www/move`,
      actorId,
      claim: code,
      kept,
      hint: undefined,
      browser: mark.value,
      isFresh: false,
    })
    return { ...redirect(303, location), cookies: [mark.cookie] }
  } catch (error) {
    if (!(error instanceof ServiceError) || (error.code !== 'conflict' && error.code !== 'invalid_value')) throw error
    const changed = explained(error, ({ arrival }) => arrival.listChanged)
    return show(deps, exchange, { code, error: changed })
  }
}

function choiceIn(sent: Params): ReaderChoice {
  if (sent.has('all')) return { allOf: sent.get('version') ?? '' }
  const names = [...sent.entries.keys()].filter((name) => name.startsWith(keptField))
  return { keys: names.map((name) => name.slice(keptField.length)) }
}

async function takeByPassphrase(
  deps: MoveClaimRouteDeps,
  exchange: Exchange<'actor'>,
  code: string,
  choice: ReaderChoice,
): Promise<HttpResponse> {
  if (!opensPagesByPassphrase(deps)) throw new ServiceError('forbidden', 'This service has other ways to sign in')
  const passphrase = await deps.arrivalClaims.takeByPassphrase(exchange.params.actor, code, choice)
  return show(deps, exchange, { code: '', passphrase })
}

interface Shown {
  readonly code: string
  readonly passphrase?: string
  readonly error?: ServiceError
}

async function show(
  deps: MoveClaimRouteDeps,
  { request, params }: Exchange<'actor'>,
  { code, passphrase = '', error }: Shown,
): Promise<HttpResponse> {
  const { arrivalClaims, actors, basePath, languages } = deps
  const { actor: actorId } = params
  const found = passphrase === '' ? await arrivalClaims.findByCode(actorId, code) : null
  const state = passphrase !== '' ? 'taken' : found === null ? 'used' : found.isHere ? 'here' : 'coming'
  const { readers, version } = state === 'here' ? await arrivalClaims.readers(actorId) : { readers: [], version: '' }
  const account = `${basePath}/${actorId}/www`
  const wish = { actorId, claim: code, redirect: `${account}/move` }
  const mark = browserCookie(request)
  const language = languages.of(request)
  const values: Omit<ArrivalValues, keyof ReturnType<typeof siteValues>> = {
    state,
    from: visible(found?.originUrl ?? ''),
    readers: readers.map(({ kind, key, name, address, relationship, hasOwnRights }) => ({
      kind,
      field: `${keptField}${key}`,
      name: visible(name),
      address: visible(address),
      relationship: visible(relationship),
      has_own_rights: hasOwnRights,
    })),
    version,
    csrf_token: antiForgeryValue(mark.value),
    error: error === undefined ? null : errorText(error, language),
    providers: webProviders(deps).map(({ name, displayName }) => ({
      name,
      display_name: displayName,
      url: beginAddress(deps, name, wish),
    })),
    by_passphrase: opensPagesByPassphrase(deps),
    action: `${basePath}/moves/${actorId}/claim`,
    code,
    creator: passphrase === '' ? '' : visible((await actors.find(actorId))?.creator ?? ''),
    passphrase,
    account_href: account,
  }
  const page = await deps.pages.arrival({ ...siteValues(deps, language), ...values })
  const status = state === 'used' ? 404 : error === undefined ? 200 : 409
  const policy = { 'Content-Security-Policy': pagePolicy(deps.baseUrl, providerTargets(deps)) }
  return { ...inLanguage(html(status, page, policy), language), cookies: [mark.cookie] }
}
