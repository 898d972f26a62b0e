/** Signing in on the web: the way to a provider, and the ways back. */
import type { Identity } from '../../../app/identity.ts'
import type { Config } from '../../../config/options.ts'
import type { PageSet } from '../../../pages/shared/page-set.ts'
import { SignInRefusal } from '../../../sign-in/refusal.ts'
import type { AuthorizationResponse, Bringer, Ending } from '../../../sign-in/callback.ts'
import { ServiceError } from '../../../errors.ts'
import type { SignIn } from '../../../sign-in/sign-in.ts'
import { deviceOf } from '../../../token/device.ts'
import { acceptsJsonByName } from '../../edge/accepts.ts'
import { type Answer, html, json, redirect } from '../../edge/response.ts'
import { browserCookie, browserOf, deliveryCookies, refreshCookie } from '../../edge/cookies.ts'
import { type BodyLimits, readUrlencodedForm } from '../../edge/body.ts'
import type { Params } from '../../edge/params.ts'
import type { Exchange, Route, VisitorExchange } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import { pagePolicy } from '../../edge/security-headers.ts'
import { type SessionResponseDeps, signedIn } from './session-response.ts'
import type { Purge } from '../../../token/purge.ts'

const callbackResponses = {
  200: 'The tokens, for a single-page application that reads them here',
  302: 'Signed in, or back to the application with `session`, `ticket`, `email_required` or `error`',
  ...errorResponses(400, 403, 429, 502, 503),
} as const

export interface SignInRouteDeps extends SessionResponseDeps {
  readonly config: BodyLimits & Pick<Config, 'webUi'>
  /** The path that every address of the service begins with; empty without a prefix. */
  readonly basePath: string
  readonly identity: Identity
  readonly signIn: SignIn
  readonly purge: Purge
  readonly pages: Pick<PageSet, 'claim'>
}

export function signInRoutes(deps: SignInRouteDeps): readonly Route[] {
  return [...providerRoutes(deps), ...claimRoutes(deps)]
}

function providerRoutes(deps: SignInRouteDeps): readonly Route[] {
  return [
    {
      id: 'beginSignIn',
      method: 'GET',
      path: '/oauth/login/:provider',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'Sends the browser to a provider to sign in',
      query: {
        redirect: 'Path to go on to afterwards',
        actor: 'Actor whose page was asked for: the owner of another one is refused',
        login_hint: 'Address that was typed: another identity is refused',
      },
      responses: { 302: 'To the provider', ...errorResponses(400, 429, 502, 503) },
      handler: (exchange) => begin(deps, exchange),
    },
    {
      id: 'signInCallback',
      method: 'GET',
      path: '/oauth/callback',
      access: 'visitor',
      takesNoHead: true,
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      summary: 'Where providers send the browser back to',
      query: {
        code: 'Authorization code',
        state: 'As it was sent',
        error: 'Why the provider signed nobody in',
        iss: 'RFC 9207',
      },
      responses: callbackResponses,
      handler: (exchange) => fromQuery(deps, exchange),
    },
    {
      id: 'signInFormCallback',
      method: 'POST',
      path: '/oauth/callback/:provider',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      // The provider's page posts it; what it carries is judged by the state.
      takesForeignPosts: true,
      summary: 'Where providers that answer by a form make the browser post it',
      request: {
        'application/x-www-form-urlencoded': {
          type: 'object',
          properties: { code: {}, state: {}, error: {}, user: {} },
        },
      },
      responses: { 303: 'On to where the browser’s cookie arrives', ...callbackResponses, ...errorResponses(404, 415) },
      handler: (exchange) => fromForm(deps, exchange),
    },
  ]
}

function claimRoutes(deps: SignInRouteDeps): readonly Route[] {
  return [
    {
      id: 'claimActor',
      method: 'POST',
      path: '/oauth/claim',
      access: 'visitor',
      limit: ['sign_in/source', 'sign_in/total'],
      page: true,
      // Only a page of this service, in the browser that proved who it is, knows the claim.
      takesForeignPosts: true,
      summary: 'Joins the actor that somebody made under one’s identity, by its passphrase, or begins with a new one',
      request: {
        'application/x-www-form-urlencoded': { type: 'object', properties: { claim: {}, choice: {}, passphrase: {} } },
      },
      responses: { 302: 'Signed in', ...errorResponses(400, 403, 415, 429, 503) },
      handler: (exchange) => claim(deps, exchange),
    },
  ]
}

async function begin(deps: SignInRouteDeps, { request, params, query }: Exchange): Promise<Answer> {
  const mark = browserCookie(request)
  const location = await deps.signIn.beginOnWeb({
    provider: params['provider'],
    redirect: query.get('redirect'),
    actorId: query.get('actor'),
    hint: query.get('login_hint'),
    browser: mark.value,
  })
  // What many begin and nobody ends goes by itself.
  deps.purge.occasionally()
  return { ...redirect(302, location), cookies: [mark.cookie] }
}

async function fromQuery(deps: SignInRouteDeps, exchange: VisitorExchange): Promise<Answer> {
  const { query } = exchange
  const handle = query.get('form_post')
  const bringer = bringerOf(exchange)
  const ending =
    handle === undefined
      ? await deps.signIn.callback.fromQuery(responseOf(query), bringer)
      : await deps.signIn.callback.fromHandle(handle, bringer)
  // Whoever signs in on pages alone never comes to the token endpoint.
  deps.purge.occasionally()
  return answerEnding(deps, exchange, ending)
}

async function fromForm(deps: SignInRouteDeps, exchange: VisitorExchange): Promise<Answer> {
  const { params } = exchange
  const form = await readUrlencodedForm(exchange.request, deps.config)
  const ending = await deps.signIn.callback.fromForm(params['provider'] ?? '', responseOf(form), bringerOf(exchange))
  return ending.kind === 'put-by'
    ? redirect(303, `${deps.baseUrl}/oauth/callback?form_post=${ending.handle}`)
    : answerEnding(deps, exchange, ending)
}

async function claim(deps: SignInRouteDeps, exchange: VisitorExchange): Promise<Answer> {
  const { request } = exchange
  const form = await readUrlencodedForm(exchange.request, deps.config)
  const claimant = {
    claim: form.get('claim') ?? '',
    browser: browserOf(request),
    device: deviceOf(request.header('user-agent')),
    source: exchange.source,
  }
  const { claims } = deps.signIn
  try {
    const isJoin = form.get('choice') === 'join'
    // A passphrase is guessed at no faster here than anywhere else.
    if (isJoin) await exchange.charge('passphrase', (await claims.look(claimant)).identifier)
    const claimed = isJoin
      ? await claims.join(claimant, form.get('passphrase') ?? '')
      : await claims.beginAnew(claimant)
    return await signedIn(deps, exchange, claimed.tokens, claimed.redirect)
  } catch (error) {
    if (!(error instanceof ServiceError) || error instanceof SignInRefusal || error.code !== 'forbidden') throw error
    return claimPage(deps, exchange, claimant.claim, error)
  }
}

async function claimPage(
  deps: SignInRouteDeps,
  { request }: Exchange,
  value: string,
  error: ServiceError | null,
): Promise<Answer> {
  const looked = await deps.signIn.claims.look({ claim: value, browser: browserOf(request) })
  const { identifier, canJoin, redirect: path } = looked
  const page = await deps.pages.claim({
    base_path: deps.basePath,
    name: deps.identity.name,
    claim: value,
    action: `${deps.basePath}/oauth/claim`,
    email: identifier,
    can_join: canJoin,
    error: error?.message ?? null,
  })
  // The answer to the form may lead to a client, wherever that is.
  const leadsAway = path !== null && deps.signIn.endsAtClient(path)
  return html(error?.status ?? 200, page, leadsAway ? { 'Content-Security-Policy': pagePolicy(null) } : {})
}

async function answerEnding(deps: SignInRouteDeps, exchange: VisitorExchange, ending: Ending): Promise<Answer> {
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
      return ending.refreshFor === null ? answer : { ...answer, cookies: [refreshCookie(ending.refreshFor)] }
    }
    case 'inline':
      return inline(ending)
    default:
      return ending satisfies never
  }
}

function inline({ tokens, delivery, redirectUrl }: Extract<Ending, { readonly kind: 'inline' }>): Answer {
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
  return delivery === 'json' ? answer : { ...answer, cookies: deliveryCookies(tokens, delivery) }
}

function bringerOf({ request }: Exchange): Bringer {
  return {
    browser: browserOf(request),
    device: deviceOf(request.header('user-agent')),
    wantsJson: acceptsJsonByName(request),
  }
}

/** In characters, all of it: what a provider sends is much shorter, and somebody else's is not kept. */
const longestResponse = 8192

function responseOf(fields: Params): AuthorizationResponse {
  let length = 0
  const read = (name: string): string | undefined => {
    const value = fields.get(name)
    length += value?.length ?? 0
    if (length > longestResponse)
      throw new ServiceError('bad_request', `Cannot sign you in: the answer of the provider is too long, at ${name}`)
    return value
  }
  return {
    state: read('state'),
    code: read('code'),
    error: read('error'),
    errorDescription: read('error_description'),
    issuer: read('iss'),
    user: read('user'),
  }
}
