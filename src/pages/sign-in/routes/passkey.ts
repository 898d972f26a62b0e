/** The page of a sign-in with a passkey, which is part of every kind of sign-in. */
import { ServiceError } from '../../../errors.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { errorText, explained } from '../../shared/error-text.ts'
import type { PageSet } from '../../shared/page-set.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../shared/site.ts'
import { type AtPasskey, longestOwnerName, type PasskeySignIn } from '../../../sign-in/passkey/passkey-sign-in.ts'
import { deviceOf } from '../../../token/device.ts'
import { browserOf } from '../../../http/edge/cookies/cookies.ts'
import { type HttpResponse, html, redirect } from '../../../http/edge/response.ts'
import type { BaseUrl } from '../../../http/dispatch/urls.ts'
import { pagePolicy } from '../../../http/edge/security-headers.ts'
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import { formBody } from '../../../http/dispatch/request-body.ts'
import type { Exchange, Route } from '../../../http/dispatch/route.ts'
import { errorResponses } from '../../../http/dispatch/schemas.ts'

const query = {
  state: stringField('The `state` of the sign-in'),
  code_challenge: stringField('S256 challenge'),
}
const fields = {
  state: optional(stringField('The `state` of the sign-in')),
  code_challenge: optional(stringField('S256 challenge')),
  action: optional(stringField('`sign_in`, `sign_up` or `recover`')),
  response: optional(stringField('JSON of the response of the device')),
  owner: optional(stringField('Name of the owner of a new account')),
  code: optional(stringField('Recovery code')),
}

type Sent = ValuesOf<typeof fields>

export interface PasskeyRouteDeps extends SiteDeps, BaseUrl {
  /** Null when people do not sign in with passkeys. */
  readonly passkeySignIn: PasskeySignIn | null
  readonly pages: Pick<PageSet, 'passkey' | 'recoveryCodes'>
}

export function passkeyRoutes(deps: PasskeyRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'passkeyPage',
      method: 'GET',
      path: '/oauth/passkey',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'The page of a sign-in with a passkey',
      query,
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(400, 404, 429) },
      handler: (exchange) => {
        const { state, code_challenge: codeChallenge } = exchange.query
        return show(deps, exchange, { state, codeChallenge, browser: browserOf(exchange.request) }, null)
      },
    }),
    defineRoute({
      id: 'passkeyForm',
      method: 'POST',
      path: '/oauth/passkey',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      // Only a page of this service, in the browser that began the sign-in, knows the state.
      takesForeignPosts: true,
      summary: 'Signs in with a passkey, creates an account, or signs in with a recovery code',
      request: formBody(fields),
      responses: {
        200: { text: 'The recovery codes of a new account', type: 'text/html' },
        302: 'To the callback with a code',
        ...errorResponses(400, 403, 404, 415, 429, 503),
      },
      handler: async (exchange) => take(deps, exchange, await exchange.body()),
    }),
  ]
}

async function take(deps: PasskeyRouteDeps, exchange: Exchange, sent: Sent): Promise<HttpResponse> {
  const { state = '', code_challenge: codeChallenge = '' } = sent
  const at = { state, codeChallenge, browser: browserOf(exchange.request) }
  // A sign-in that is not known has no page.
  await requireOffered(deps).options(at)
  try {
    return await run(deps, exchange, at, sent)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500 || error.code === 'too_many_requests') throw error
    return show(deps, exchange, at, { error: inWords(error), sent })
  }
}

/** @throws ServiceError for a form that is refused. */
async function run(deps: PasskeyRouteDeps, exchange: Exchange, at: AtPasskey, sent: Sent): Promise<HttpResponse> {
  const signIn = requireOffered(deps)
  const { action, response = '', owner = '', code = '' } = sent
  switch (action) {
    case 'sign_in':
      return redirect(302, await signIn.enter(at, required(response)))
    case 'sign_up': {
      // An account for each passkey costs nothing but a program, so it counts like any other new actor.
      await exchange.charge('create_actor')
      const device = deviceOf(exchange.request.header('user-agent'))
      const account = await signIn.begin(at, { name: owner, response: required(response), device })
      return codesPage(deps, exchange, account)
    }
    case 'recover':
      await exchange.charge('passphrase')
      return redirect(302, await signIn.recover(at, code))
    default:
      throw new ServiceError('bad_request', 'Cannot take the form: the action is neither sign_in, sign_up nor recover')
  }
}

/** @throws ServiceError for a form that was sent without the script of the page. */
function required(response: string): string {
  if (response !== '') return response
  const error = new ServiceError('bad_request', 'Cannot sign you in: the response of the device is missing')
  throw explained(error, ({ passkeys }) => passkeys.needsScript)
}

function inWords(error: ServiceError): ServiceError {
  if (error.detail.onPage !== undefined) return error
  if (error.code === 'invalid_value') return explained(error, ({ passkeys }) => passkeys.ownerInvalid(longestOwnerName))
  return error.code === 'bad_request' ? explained(error, ({ passkeys }) => passkeys.failed) : error
}

function requireOffered({ passkeySignIn }: PasskeyRouteDeps): PasskeySignIn {
  if (passkeySignIn === null) throw new ServiceError('not_found', 'There is nothing at this address')
  return passkeySignIn
}

async function show(
  deps: PasskeyRouteDeps,
  { request }: Pick<Exchange, 'request'>,
  at: AtPasskey,
  refused: { readonly error: ServiceError; readonly sent: Sent } | null,
): Promise<HttpResponse> {
  const { request: requestOptions, creation, leadsAway } = await requireOffered(deps).options(at)
  const language = deps.languages.of(request)
  const page = await deps.pages.passkey({
    ...siteValues(deps, language),
    action: `${deps.basePath}/oauth/passkey`,
    state: at.state,
    code_challenge: at.codeChallenge,
    request_options: requestOptions,
    creation_options: creation,
    error: refused === null ? null : errorText(refused.error, language),
    refused: refused?.sent.action ?? null,
    typed_name: refused?.sent.owner ?? '',
  })
  // The form may end at an application or an AI client at any URL.
  const headers = leadsAway ? { 'Content-Security-Policy': pagePolicy(deps.baseUrl, null) } : {}
  return inLanguage(html(refused?.error.status ?? 200, page, headers), language)
}

async function codesPage(
  deps: PasskeyRouteDeps,
  { request }: Exchange,
  { codes, continueUrl }: Awaited<ReturnType<PasskeySignIn['begin']>>,
): Promise<HttpResponse> {
  const language = deps.languages.of(request)
  const page = await deps.pages.recoveryCodes({ ...siteValues(deps, language), codes, continue_url: continueUrl })
  return inLanguage(html(200, page), language)
}
