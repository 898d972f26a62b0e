/** Email addresses that no provider verified: the form, and the verification link. */
import { parseAddress } from '../../../actor/address.ts'
import { errorText, explained } from '../../shared/error-text.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../shared/site.ts'
import { visible } from '../../shared/visible.ts'
import { ServiceError } from '../../../errors.ts'
import { hintField, optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import type { PageSet } from '../../shared/page-set.ts'
import type { KeyRing } from '../../../secret/key-ring.ts'
import { knownBrowser } from '../../../sign-in/known-browser.ts'
import { SignInRefusal } from '../../../sign-in/refusal.ts'
import type { Asking } from '../../../sign-in/email-entry.ts'
import type { SignIn } from '../../../sign-in/sign-in.ts'
import type { Verified } from '../../../sign-in/verification.ts'
import { deviceOf } from '../../../token/device.ts'
import { acceptsJsonByName, acceptsPages } from '../../../http/edge/accepts.ts'
import { type HttpResponse, html, json, noContent } from '../../../http/edge/response.ts'
import { browserOf, knownBrowserOf } from '../../../http/edge/cookies/cookies.ts'
import { type Bodied, defineRoute } from '../../../http/dispatch/define-route.ts'
import type { OpenExchange, Route, VisitorExchange } from '../../../http/dispatch/route.ts'
import { errorResponses } from '../../../http/dispatch/schemas.ts'
import { homeOf } from '../../../http/dispatch/urls.ts'
import { type SessionResponseDeps, signedIn } from './session-response.ts'
import { spaBody } from '../../../spa/spa-body.ts'
import { tokenResponse } from '../../../spa/token-response.ts'

const addressFields = {
  session: optional(stringField('Of the sign-in that waits')),
  email: optional(stringField('The address')),
  verify: optional(stringField('In place of both: the token of a link')),
}
const linkFields = {
  token: optional(stringField('Of the link')),
  verify: optional(stringField('The same under its other name')),
}
const formatQuery = { format: hintField('`json`: the answer is for a program', ['json']) }
const askQuery = {
  session: optional(stringField('Of the sign-in that waits')),
  verify: optional(stringField('Token of the link')),
  ...formatQuery,
}
const linkQuery = { token: optional(stringField('Of the link')), ...formatQuery }

/** The exchange of every handler in this file. */
type EmailExchange = VisitorExchange<string, ValuesOf<typeof formatQuery>>

export interface EmailRouteDeps extends SessionResponseDeps, SiteDeps {
  readonly signIn: SignIn
  readonly pages: Pick<PageSet, 'email' | 'verification'>
  readonly keyRing: KeyRing
}

export function oauthEmailRoutes(deps: EmailRouteDeps): readonly Route[] {
  return [...addressRoutes(deps), ...linkRoutes(deps)]
}

function addressRoutes(deps: EmailRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'askEmail',
      method: 'GET',
      path: '/oauth/email',
      access: 'visitor',
      limit: ['email_verification/source', 'email_verification/total'],
      cors: 'spa',
      page: true,
      summary: 'The form for an address that no provider vouches for; with `verify`, the page of a verification link',
      query: askQuery,
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(400, 403, 410, 429) },
      handler: (exchange) => ask(deps, exchange),
    }),
    defineRoute({
      id: 'enterEmail',
      method: 'POST',
      path: '/oauth/email',
      access: 'visitor',
      cors: 'spa',
      page: true,
      // The session, or the token of the link, authorizes this form. Only its holder can send it.
      takesForeignPosts: true,
      summary: 'Enters the address, or verifies one',
      query: formatQuery,
      request: spaBody(addressFields),
      responses: { 200: 'The tokens', 302: 'Signed in', ...errorResponses(400, 403, 409, 410, 429, 503) },
      handler: async (exchange) => enter(deps, exchange, await exchange.body()),
    }),
  ]
}

function linkRoutes(deps: EmailRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'verifyEmail',
      method: 'GET',
      path: '/:actor/www/verify_email',
      access: 'public',
      limit: [
        'email_verification/pair',
        'email_verification/source',
        'email_verification/target',
        'email_verification/total',
      ],
      page: true,
      summary: 'The page of a verification link in its older form',
      query: linkQuery,
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(400, 403, 404, 410, 429) },
      handler: (exchange) => showLink(deps, exchange, exchange.query.token, exchange.actor.id),
    }),
    defineRoute({
      id: 'followEmail',
      method: 'POST',
      path: '/:actor/www/verify_email',
      access: 'open',
      limit: [
        'email_verification/pair',
        'email_verification/source',
        'email_verification/target',
        'email_verification/total',
      ],
      page: true,
      category: 'actor',
      summary: 'Verifies the address by the token of a link; without one, the owner asks for another link',
      query: linkQuery,
      request: spaBody(linkFields),
      responses: {
        200: { text: 'Verified', type: 'text/html' },
        204: 'Another link is on its way',
        ...errorResponses(400, 401, 403, 404, 410, 429),
      },
      handler: (exchange) => followOrResend(deps, exchange),
    }),
  ]
}

/** Returns true when the client requests JSON. Other clients get a page. */
function isForProgram({ request, query }: Pick<EmailExchange, 'request' | 'query'>): boolean {
  return query.format === 'json' || acceptsJsonByName(request)
}

async function ask(
  deps: EmailRouteDeps,
  exchange: VisitorExchange<never, ValuesOf<typeof askQuery>>,
): Promise<HttpResponse> {
  const { request, query } = exchange
  const token = query.verify
  if (token !== undefined) return showLink(deps, exchange, token)
  const { session } = query
  if (session === undefined) throw new ServiceError('bad_request', 'Cannot ask for an address: session is missing')
  const asking = await deps.signIn.freeText.look(session, browserOf(request))
  refuseStrangers(exchange, asking)
  return isForProgram(exchange)
    ? json(200, { ...emailValues(deps, session, asking), action: 'email_required' })
    : emailPage(deps, exchange, session, asking)
}

function emailValues(deps: EmailRouteDeps, session: string, { provider, displayName }: Asking): object {
  return {
    session_id: session,
    form_action: `${deps.basePath}/oauth/email`,
    form_method: 'POST',
    provider,
    provider_display: displayName,
    message: messageFor(displayName),
    verified_emails: [],
    has_verified_emails: false,
  }
}

/** Refuses a page for a sign-in of another browser, because an attacker could send a victim a link to the attacker's sign-in. */
function refuseStrangers({ visitor }: Pick<VisitorExchange, 'visitor'>, { isBound }: Asking): void {
  if (isBound || visitor.site !== 'same') return
  throw new ServiceError(
    'bad_request',
    'Cannot continue this sign-in here: an application started it and must continue it',
  )
}

function messageFor(displayName: string): string {
  return `${displayName} does not say which e-mail address is yours. Enter the one by which you want to be known here.`
}

async function emailPage(
  deps: EmailRouteDeps,
  { request }: Pick<EmailExchange, 'request'>,
  session: string,
  asking: Asking,
  refused: { readonly error: ServiceError; readonly email: string } | null = null,
): Promise<HttpResponse> {
  if (!asking.isBound) {
    throw new ServiceError(
      'bad_request',
      'Cannot show a page for this sign-in: an application started it and must continue it',
    )
  }
  const language = deps.languages.of(request)
  const page = await deps.pages.email({
    ...siteValues(deps, language),
    session_id: session,
    action: `${deps.basePath}/oauth/email`,
    method: 'POST',
    provider: asking.provider,
    provider_display: asking.displayName,
    message: language.messages.signIn.emailText(asking.displayName),
    error: refused === null ? null : errorText(refused.error, language),
    email: refused?.email ?? '',
    verified_emails: [],
    show_dropdown: false,
  })
  return inLanguage(html(refused?.error.status ?? 200, page), language)
}

async function enter(
  deps: EmailRouteDeps,
  exchange: EmailExchange,
  fields: ValuesOf<typeof addressFields>,
): Promise<HttpResponse> {
  const token = fields.verify
  if (token !== undefined) {
    await exchange.charge('email_verification')
    return follow(deps, exchange, token)
  }
  return enterAddress(deps, exchange, fields)
}

async function enterAddress(
  deps: EmailRouteDeps,
  exchange: EmailExchange,
  fields: ValuesOf<typeof addressFields>,
): Promise<HttpResponse> {
  const { request } = exchange
  const { email: typed = '', session } = fields
  const browser = browserOf(request)
  const isProgram = isForProgram(exchange) || !acceptsPages(request)
  const looked = deps.signIn.freeText.look(session ?? '', browser)
  const waits = await looked.then(
    () => true,
    () => false,
  )
  // Only a pending sign-in counts against the address, so that others cannot exhaust the limit of its owner.
  const address = parseAddress(typed) ?? typed
  const known = waits ? knownBrowser(deps.keyRing, knownBrowserOf(request), address) : null
  await exchange.charge('email_entry', waits ? address : undefined, known)
  if (session === undefined) throw new ServiceError('bad_request', 'Cannot enter an address: session is missing')
  const asking = await looked
  refuseStrangers(exchange, asking)
  if (!isProgram && !asking.isBound) return emailPage(deps, exchange, session, asking)
  try {
    const device = deviceOf(request.header('user-agent'))
    const entered = await deps.signIn.freeText.enter({
      session,
      email: typed,
      browser,
      device,
      language: deps.languages.of(request).tag,
    })
    return await (isProgram ? enteredByProgram(deps, exchange, entered) : enteredOnPage(deps, exchange, entered))
  } catch (error) {
    if (isProgram || !isFixedByTyping(error)) throw error
    return emailPage(deps, exchange, session, asking, { error: forTyping(error), email: typed })
  }
}

/** The form can be sent again with another address. */
function isFixedByTyping(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error instanceof SignInRefusal) return false
  return error.code === 'invalid_value' || error.code === 'actor_exists'
}

/** Explains the error on the page of the form. */
function forTyping(error: ServiceError): ServiceError {
  return explained(error, ({ signInErrors }) =>
    error.code === 'actor_exists' ? signInErrors.emailTaken : signInErrors.invalidEmail,
  )
}

type Entered = Awaited<ReturnType<SignIn['freeText']['enter']>>

function enteredOnPage(
  deps: EmailRouteDeps,
  exchange: VisitorExchange,
  { tokens, asking }: Entered,
): Promise<HttpResponse> {
  const { flow } = asking
  const path = flow.kind === 'web' && flow.redirect !== null ? deps.signIn.targets.parsePath(flow.redirect) : null
  return signedIn(deps, exchange, tokens, path)
}

function enteredByProgram(
  deps: EmailRouteDeps,
  exchange: VisitorExchange,
  { tokens, address, asking }: Entered,
): Promise<HttpResponse> {
  // Only the browser that started the sign-in receives a cookie.
  const delivery = asking.flow.kind === 'spa' && asking.isBound ? asking.flow.delivery : 'json'
  return tokenResponse(
    exchange,
    { tokens, delivery },
    {
      status: 'success',
      message: 'You are signed in; the address waits to be verified',
      email: address,
      redirect_url: homePathOf(deps, tokens.actorId),
      email_requires_verification: true,
    },
  )
}

/** Shows a page for a link. Mail scanners open links like browsers, so only a JSON request verifies by GET. */
async function showLink(
  deps: EmailRouteDeps,
  exchange: EmailExchange,
  token: string | undefined,
  actorId?: string,
): Promise<HttpResponse> {
  const { request } = exchange
  if (token === undefined) throw new ServiceError('bad_request', 'Cannot verify an address: the token is missing')
  if (isForProgram(exchange) && request.method === 'GET') return follow(deps, exchange, token, actorId)
  const found = await deps.signIn.verification.look({ token, actorId })
  return verificationPage(deps, exchange, found, token)
}

async function follow(
  deps: EmailRouteDeps,
  exchange: EmailExchange,
  token: string,
  actorId?: string,
): Promise<HttpResponse> {
  const { request, visitor } = exchange
  const session = await visitor.session()
  const verified = await deps.signIn.verification.follow({
    token,
    browser: browserOf(request),
    signedInTo: session?.chain.actorId ?? null,
    actorId,
  })
  const message = 'Thank you: the address is verified.'
  if (!isForProgram(exchange)) return verificationPage(deps, exchange, verified, null)
  return json(200, {
    success: true,
    status: 'verified',
    message,
    email: verified.address,
    redirect_url: homePathOf(deps, verified.actor.id),
  })
}

/** @param token Null once the address is verified. */
async function verificationPage(
  deps: EmailRouteDeps,
  { request }: Pick<EmailExchange, 'request'>,
  { actor, address }: Verified,
  token: string | null,
): Promise<HttpResponse> {
  const language = deps.languages.of(request)
  const { signIn } = language.messages
  const page = await deps.pages.verification({
    ...siteValues(deps, language),
    status: token === null ? 'verified' : 'confirm',
    message: token === null ? signIn.verifiedText : signIn.verifyText,
    actor_id: actor.id,
    email: visible(address),
    action: `${deps.basePath}/oauth/email`,
    token: token ?? '',
    redirect_url: homePathOf(deps, actor.id),
  })
  return inLanguage(html(200, page), language)
}

async function followOrResend(
  deps: EmailRouteDeps,
  exchange: OpenExchange<never, ValuesOf<typeof linkQuery>> & Bodied<ValuesOf<typeof linkFields>>,
): Promise<HttpResponse> {
  const { request, query, actor, body } = exchange
  const fields = await body()
  const token = fields.token ?? fields.verify ?? query.token
  if (token !== undefined) return follow(deps, exchange, token, actor.id)
  await exchange.authorized()
  await exchange.charge('email_entry', actor.id)
  await deps.signIn.verification.resend(actor, browserOf(request), deps.languages.of(request).tag)
  return noContent()
}

/** Returns the path of the user's start page. */
function homePathOf({ basePath, config }: EmailRouteDeps, actorId: string): string {
  return homeOf({ baseUrl: basePath, config }, actorId)
}
