/** Sign-in on the web: the redirect to a provider, and its callbacks. */
import { errorText, explained } from '../../shared/error-text.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../shared/site.ts'
import type { PageSet } from '../../shared/page-set.ts'
import { SignInRefusal } from '../../../sign-in/refusal.ts'
import type { AuthorizationResponse, CallbackSender, Ending } from '../../../sign-in/callback.ts'
import { ServiceError } from '../../../errors.ts'
import { hintField, optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import type { HostSignIn } from '../../../sign-in/host/host-sign-in.ts'
import type { SignIn } from '../../../sign-in/sign-in.ts'
import { deviceOf } from '../../../token/device.ts'
import { acceptsJsonByName } from '../../../http/edge/accepts.ts'
import { type HttpResponse, html, json, redirect } from '../../../http/edge/response.ts'
import { browserCookie, browserOf } from '../../../http/edge/cookies/cookies.ts'
import { type Bodied, defineRoute } from '../../../http/dispatch/define-route.ts'
import { formBody } from '../../../http/dispatch/request-body.ts'
import type { Exchange, Route, VisitorExchange } from '../../../http/dispatch/route.ts'
import { errorResponses } from '../../../http/dispatch/schemas.ts'
import { pagePolicy } from '../../../http/edge/security-headers.ts'
import { type SessionResponseDeps, signedIn } from './session-response.ts'
import type { Purge } from '../../../token/purge.ts'

const beginQuery = {
  redirect: optional(stringField('Path to continue to afterwards')),
  actor: optional(stringField('Actor whose page was requested; the owner of another actor is refused')),
  claim: optional(stringField('Code that gives `actor`, which came from another service, to the person')),
  login_hint: optional(stringField('The typed address; another identity is refused')),
  fresh: hintField('`1`: the person proves again who they are', ['1']),
}
const responseFields = {
  state: optional(stringField('The `state` of the request')),
  code: optional(stringField('Authorization code')),
  error: optional(stringField('Error code of the provider')),
  error_description: optional(stringField('Error message of the provider')),
  iss: optional(stringField('RFC 9207')),
  user: optional(stringField('The user’s name from Apple, sent only once')),
}
const callbackQuery = {
  ...responseFields,
  form_post: optional(stringField('Refers to a response that arrived by a form')),
}
const hostQuery = {
  state: stringField('The `state` of the sign-in'),
  code_challenge: stringField('S256 challenge'),
  returned: optional(stringField('`1` after the sign-in page of the application')),
}
const claimFields = {
  claim: optional(stringField('Of the page')),
  choice: optional(stringField('`join`, or a new actor')),
  passphrase: optional(stringField('Of the actor to join')),
}

const callbackResponses = {
  200: 'The tokens, for a single-page application that reads them here',
  302: 'Signed in, or back to the application with `session`, `ticket`, `email_required` or `error`',
  ...errorResponses(400, 403, 429, 502, 503),
} as const

export interface SignInRouteDeps extends SessionResponseDeps, SiteDeps {
  readonly signIn: SignIn
  /** Asks the embedding program. Null: it names no users. */
  readonly host: HostSignIn | null
  readonly purge: Purge
  readonly pages: Pick<PageSet, 'claim'>
}

export function signInRoutes(deps: SignInRouteDeps): readonly Route[] {
  return [...providerRoutes(deps), hostRoute(deps), ...claimRoutes(deps)]
}

function providerRoutes(deps: SignInRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'beginSignIn',
      method: 'GET',
      path: '/oauth/login/:provider',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'Redirects the browser to a provider to sign in',
      query: beginQuery,
      responses: { 302: 'To the provider', ...errorResponses(400, 429, 502, 503) },
      handler: (exchange) => begin(deps, exchange),
    }),
    defineRoute({
      id: 'signInCallback',
      method: 'GET',
      path: '/oauth/callback',
      access: 'visitor',
      takesNoHead: true,
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'Callback of the providers',
      query: callbackQuery,
      responses: callbackResponses,
      handler: (exchange) => fromQuery(deps, exchange),
    }),
    defineRoute({
      id: 'signInFormCallback',
      method: 'POST',
      path: '/oauth/callback/:provider',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      // The provider's page posts the form; the `state` authenticates it.
      takesForeignPosts: true,
      summary: 'Callback of providers that respond by a form',
      request: formBody(responseFields),
      responses: { 303: 'On to where the browser’s cookie arrives', ...callbackResponses, ...errorResponses(404, 415) },
      handler: (exchange) => fromForm(deps, exchange),
    }),
  ]
}

function hostRoute(deps: SignInRouteDeps): Route {
  return defineRoute({
    id: 'signInAtHost',
    method: 'GET',
    path: '/oauth/host',
    access: 'visitor',
    takesNoHead: true,
    limit: ['sign_in/source', 'sign_in/total'],
    page: true,
    summary: 'Signs in the user of the application that embeds the service (`authenticate`)',
    query: hostQuery,
    responses: {
      302: 'To the callback with a code, or to the sign-in page of the application',
      ...errorResponses(400, 403, 404, 429, 502, 503),
    },
    handler: ({ request, query }) => atHost(deps, request, query),
  })
}

function claimRoutes(deps: SignInRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'claimActor',
      method: 'POST',
      path: '/oauth/claim',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      // Only a page of this service, in the authenticated browser, knows the claim.
      takesForeignPosts: true,
      summary: 'Joins the actor that was created under the user’s identity, by its passphrase, or creates a new one',
      request: formBody(claimFields),
      responses: { 302: 'Signed in', ...errorResponses(400, 403, 415, 429, 503) },
      handler: async (exchange) => claim(deps, exchange, await exchange.body()),
    }),
  ]
}

async function begin(
  deps: SignInRouteDeps,
  { request, params, query }: Exchange<'provider', ValuesOf<typeof beginQuery>>,
): Promise<HttpResponse> {
  const mark = browserCookie(request)
  const location = await deps.signIn.beginOnWeb({
    provider: params.provider,
    redirect: query.redirect,
    actorId: query.actor,
    claim: query.claim,
    hint: query.login_hint,
    isFresh: query.fresh === '1',
    browser: mark.value,
  })
  // Sign-ins that users start and never finish must expire.
  deps.purge.occasionally()
  return { ...redirect(302, location), cookies: [mark.cookie] }
}

async function atHost(
  { host }: SignInRouteDeps,
  request: Exchange['request'],
  { state, code_challenge: codeChallenge, returned }: ValuesOf<typeof hostQuery>,
): Promise<HttpResponse> {
  if (host === null) throw new ServiceError('not_found', 'There is nothing at this address')
  const browser = browserOf(request)
  return redirect(302, await host.continue({ state, codeChallenge, browser, hasReturned: returned === '1', request }))
}

async function fromQuery(
  deps: SignInRouteDeps,
  exchange: VisitorExchange<never, ValuesOf<typeof callbackQuery>>,
): Promise<HttpResponse> {
  const { query } = exchange
  const handle = query.form_post
  const sender = senderOf(exchange)
  const ending =
    handle === undefined
      ? await deps.signIn.callback.fromQuery(responseOf(query), sender)
      : await deps.signIn.callback.fromHandle(handle, sender)
  // A sign-in on pages never reaches the token endpoint, which also purges.
  deps.purge.occasionally()
  return answerEnding(deps, exchange, ending)
}

async function fromForm(
  deps: SignInRouteDeps,
  exchange: VisitorExchange<'provider'> & Bodied<ProviderResponse>,
): Promise<HttpResponse> {
  const { params, body } = exchange
  const response = responseOf(await body())
  const ending = await deps.signIn.callback.fromForm(params.provider, response, senderOf(exchange))
  return ending.kind === 'stored'
    ? redirect(303, `${deps.baseUrl}/oauth/callback?form_post=${ending.handle}`)
    : answerEnding(deps, exchange, ending)
}

async function claim(
  deps: SignInRouteDeps,
  exchange: VisitorExchange,
  { claim: claimed = '', choice, passphrase = '' }: ValuesOf<typeof claimFields>,
): Promise<HttpResponse> {
  const { request } = exchange
  const holder = {
    claim: claimed,
    browser: browserOf(request),
    device: deviceOf(request.header('user-agent')),
    source: exchange.source,
  }
  const { claims } = deps.signIn
  try {
    const isJoin = choice === 'join'
    // The same limit as elsewhere applies to passphrase guesses.
    if (isJoin) await exchange.charge('passphrase', (await claims.look(holder)).identifier)
    const { tokens, redirect: path } = await (isJoin ? claims.join(holder, passphrase) : claims.startNewActor(holder))
    return await signedIn(deps, exchange, tokens, path)
  } catch (error) {
    if (!(error instanceof ServiceError) || error instanceof SignInRefusal || error.code !== 'forbidden') throw error
    const isWrong = choice === 'join'
    return claimPage(
      deps,
      exchange,
      holder.claim,
      isWrong ? explained(error, ({ signInErrors }) => signInErrors.wrongPassphrase) : error,
    )
  }
}

async function claimPage(
  deps: SignInRouteDeps,
  { request }: Exchange,
  value: string,
  error: ServiceError | null,
): Promise<HttpResponse> {
  const looked = await deps.signIn.claims.look({ claim: value, browser: browserOf(request) })
  const { identifier, canJoin, redirect: path } = looked
  const language = deps.languages.of(request)
  const page = await deps.pages.claim({
    ...siteValues(deps, language),
    claim: value,
    action: `${deps.basePath}/oauth/claim`,
    email: identifier,
    can_join: canJoin,
    error: error === null ? null : errorText(error, language),
  })
  // The form may redirect to a client at any URL.
  const leadsAway = path !== null && deps.signIn.endsAtClient(path)
  const answer = html(
    error?.status ?? 200,
    page,
    leadsAway ? { 'Content-Security-Policy': pagePolicy(deps.baseUrl, null) } : {},
  )
  return inLanguage(answer, language)
}

async function answerEnding(deps: SignInRouteDeps, exchange: VisitorExchange, ending: Ending): Promise<HttpResponse> {
  const { request } = exchange
  switch (ending.kind) {
    case 'web':
      return signedIn(deps, exchange, ending.tokens, ending.redirect)
    case 'claim-needed':
      return claimPage(deps, exchange, ending.claim, null)
    case 'address-needed': {
      const { session } = ending
      return acceptsJsonByName(request)
        ? json(200, { success: false, email_required: true, session })
        : redirect(302, `${deps.baseUrl}/oauth/email?session=${session}`)
    }
    case 'redirect': {
      const answer = redirect(302, ending.location)
      if (ending.refreshFor === null) return answer
      return { ...answer, cookies: [(await exchange.visitor.sessionCookies()).refresh(ending.refreshFor)] }
    }
    case 'inline':
      return inline(exchange, ending)
    default:
      return ending satisfies never
  }
}

async function inline(
  { visitor }: VisitorExchange,
  { tokens, delivery, redirectUrl }: Extract<Ending, { readonly kind: 'inline' }>,
): Promise<HttpResponse> {
  const access = { access_token: tokens.accessToken, token_type: 'Bearer' }
  const answer = json(200, {
    success: true,
    status: 'success',
    message: 'You are signed in',
    actor_id: tokens.actorId,
    email: tokens.identifier,
    expires_in: tokens.expiresIn,
    expires_at: tokens.expiresAt,
    redirect_url: redirectUrl,
    ...(delivery === 'cookie' ? {} : access),
    ...(delivery === 'json'
      ? { refresh_token: tokens.refreshToken, refresh_token_expires_in: tokens.refreshExpiresIn }
      : { token_delivery: delivery }),
  })
  if (delivery === 'json') return answer
  return { ...answer, cookies: (await visitor.sessionCookies()).delivery(tokens, delivery) }
}

function senderOf({ request }: Exchange): CallbackSender {
  return {
    browser: browserOf(request),
    device: deviceOf(request.header('user-agent')),
    wantsJson: acceptsJsonByName(request),
  }
}

/** Maximum length of all fields, in characters. Real responses are much shorter, and the limit keeps forged ones small. */
const longestResponse = 8192

type ProviderResponse = ValuesOf<typeof responseFields>

function responseOf({ state, code, error, error_description, iss, user }: ProviderResponse): AuthorizationResponse {
  let length = 0
  for (const [name, value] of Object.entries({ state, code, error, error_description, iss, user })) {
    length += value?.length ?? 0
    if (length > longestResponse)
      throw new ServiceError('bad_request', `Cannot sign you in: the response of the provider is too long, at ${name}`)
  }
  return { state, code, error, errorDescription: error_description, issuer: iss, user }
}
