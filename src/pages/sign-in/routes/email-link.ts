/** The page of a sign-in by email, which is part of every kind of sign-in. */
import { parseAddress } from '../../../actor/address.ts'
import { ServiceError } from '../../../errors.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { errorText, explained } from '../../shared/error-text.ts'
import type { PageSet } from '../../shared/page-set.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../shared/site.ts'
import type { EmailLinkValues } from '../values.ts'
import type { KeyRing } from '../../../secret/key-ring.ts'
import type { AtEmailLink, EmailLinkSignIn } from '../../../sign-in/email-link/email-link-sign-in.ts'
import { knownBrowser, withMark } from '../../../sign-in/known-browser.ts'
import { browserOf, knownBrowserCookie, knownBrowserOf } from '../../../http/edge/cookies/cookies.ts'
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
  code: optional(stringField('The code of the email')),
}
const fields = {
  state: optional(stringField('The `state` of the sign-in')),
  code_challenge: optional(stringField('S256 challenge')),
  action: optional(stringField('`send` or `enter`')),
  email: optional(stringField('The address, to `send` a code')),
  code: optional(stringField('The code, to `enter` it')),
  sent_to: optional(stringField('The address of the page, for a code that is refused')),
}

type Sent = ValuesOf<typeof fields>
type Shown = Partial<Pick<EmailLinkValues, 'email' | 'sent_to' | 'code'>>

export interface EmailLinkRouteDeps extends SiteDeps, BaseUrl {
  /** Null when people do not sign in by email. */
  readonly emailLinkSignIn: EmailLinkSignIn | null
  readonly pages: Pick<PageSet, 'emailLink'>
  readonly keyRing: KeyRing
}

export function emailLinkRoutes(deps: EmailLinkRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'emailLinkPage',
      method: 'GET',
      path: '/oauth/email-link',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'The page of a sign-in by email; with `code`, that of the link in the email',
      query,
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(400, 404, 429) },
      handler: (exchange) => {
        const { state, code_challenge: codeChallenge, code } = exchange.query
        return show(
          deps,
          exchange,
          { state, codeChallenge, browser: browserOf(exchange.request) },
          { code: code ?? '' },
        )
      },
    }),
    defineRoute({
      id: 'emailLinkForm',
      method: 'POST',
      path: '/oauth/email-link',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      // Only a page of this service, in the browser that began the sign-in, knows the state.
      takesForeignPosts: true,
      summary: 'Sends a code to an address, or signs in with the code',
      request: formBody(fields),
      responses: {
        200: { text: 'The page that asks for the code', type: 'text/html' },
        302: 'To the callback with a code',
        ...errorResponses(400, 403, 404, 415, 429, 502, 503),
      },
      handler: async (exchange) => take(deps, exchange, await exchange.body()),
    }),
  ]
}

async function take(deps: EmailLinkRouteDeps, exchange: Exchange, sent: Sent): Promise<HttpResponse> {
  const { state = '', code_challenge: codeChallenge = '', action, email = '', code = '', sent_to: sentTo } = sent
  const at = { state, codeChallenge, browser: browserOf(exchange.request) }
  const signIn = requireOffered(deps)
  // A sign-in that is not known has no page, and sends nothing.
  await signIn.look(at)
  try {
    if (action === 'enter') return await enter(deps, exchange, at, code)
    if (action !== 'send')
      throw new ServiceError('bad_request', 'Cannot take the form: the action is neither send nor enter')
    await chargeEmail(deps, exchange, email)
    return await show(deps, exchange, at, {
      sent_to: await signIn.send(at, email, deps.languages.of(exchange.request).tag),
    })
  } catch (error) {
    if (!(error instanceof ServiceError) || (error.status >= 500 && error.code !== 'provider_failed')) throw error
    if (error.code === 'too_many_requests') throw error
    return show(
      deps,
      exchange,
      at,
      action === 'enter' ? { sent_to: parseAddress(sentTo ?? '') } : { email },
      inWords(error),
    )
  }
}

async function chargeEmail(
  { keyRing }: EmailLinkRouteDeps,
  { request, charge }: Exchange,
  email: string,
): Promise<void> {
  const address = parseAddress(email)
  if (address === null) return charge('sign_in_link')
  return charge('sign_in_link', address, knownBrowser(keyRing, knownBrowserOf(request), address))
}

/** Signs in, and marks the browser for later sign-ins with the address. */
async function enter(
  deps: EmailLinkRouteDeps,
  { request }: Exchange,
  at: AtEmailLink,
  code: string,
): Promise<HttpResponse> {
  const { url, address } = await requireOffered(deps).enter(at, code)
  const marks = withMark(deps.keyRing, knownBrowserOf(request), address)
  return { ...redirect(302, url), cookies: [knownBrowserCookie(marks)] }
}

function inWords(error: ServiceError): ServiceError {
  if (error.code === 'invalid_value') return explained(error, ({ signInErrors }) => signInErrors.invalidEmail)
  return error.code === 'provider_failed' ? explained(error, ({ emailLink }) => emailLink.notSent) : error
}

function requireOffered({ emailLinkSignIn }: EmailLinkRouteDeps): EmailLinkSignIn {
  if (emailLinkSignIn === null) throw new ServiceError('not_found', 'There is nothing at this address')
  return emailLinkSignIn
}

async function show(
  deps: EmailLinkRouteDeps,
  { request }: Pick<Exchange, 'request'>,
  at: AtEmailLink,
  shown: Shown,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const { expected, leadsAway } = await requireOffered(deps).look(at)
  const language = deps.languages.of(request)
  const page = await deps.pages.emailLink({
    ...siteValues(deps, language),
    action: `${deps.basePath}/oauth/email-link`,
    state: at.state,
    code_challenge: at.codeChallenge,
    email: expected ?? '',
    sent_to: null,
    code: '',
    error: error === null ? null : errorText(error, language),
    ...shown,
  })
  // The form may end at an application or an AI client at any URL.
  const headers = leadsAway ? { 'Content-Security-Policy': pagePolicy(deps.baseUrl, null) } : {}
  return inLanguage(html(error?.status ?? 200, page, headers), language)
}
