/** Addresses that no provider vouches for: the form, and the link that verifies them. */
import { parseAddress } from '../../../actor/address.ts'
import { ServiceError } from '../../../errors.ts'
import { SignInRefusal } from '../../../sign-in/refusal.ts'
import type { Asking } from '../../../sign-in/email-entry.ts'
import type { Verified } from '../../../sign-in/verification.ts'
import { deviceOf } from '../../../token/device.ts'
import { acceptsJsonByName, acceptsPages } from '../../edge/accepts.ts'
import { type Answer, html, json, noContent } from '../../edge/response.ts'
import { originOf } from '../../dispatch/anti-forgery.ts'
import { browserOf } from '../../edge/cookies.ts'
import type { Params } from '../../edge/params.ts'
import { accessTokenOf } from '../../dispatch/presented-tokens.ts'
import type { Exchange, OpenExchange, Route } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import { signedIn } from '../../dispatch/session-response.ts'
import { readSpaFields } from '../../../spa/spa-body.ts'
import { tokenAnswer } from '../../../spa/token-response.ts'

const formFields = {
  type: 'object',
  properties: {
    session: { type: 'string' },
    email: { type: 'string' },
    verify: { type: 'string', description: 'In place of both: the token of a link' },
  },
} as const

const verifyQuery = { verify: 'Token of the link', format: '`json`: the answer is for a program' } as const

export const oauthEmailRoutes: readonly Route[] = [
  {
    id: 'askEmail',
    method: 'GET',
    path: '/oauth/email',
    access: 'service',
    limit: ['email_verification/source', 'email_verification/total'],
    cors: 'spa',
    page: true,
    summary: 'The form for an address that no provider vouches for; with `verify`, the page of a verification link',
    query: { session: 'Of the sign-in that waits', ...verifyQuery },
    responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(400, 403, 410, 429) },
    handler: ask,
  },
  {
    id: 'enterEmail',
    method: 'POST',
    path: '/oauth/email',
    access: 'service',
    cors: 'spa',
    page: true,
    // The session, or the token of the link, is what counts here, and only who has it can send it.
    takesForeignPosts: true,
    summary: 'Enters the address, or verifies one',
    request: { 'application/x-www-form-urlencoded': formFields, 'application/json': formFields },
    responses: { 200: 'The tokens', 302: 'Signed in', ...errorResponses(400, 403, 409, 410, 429, 503) },
    handler: enter,
  },
  {
    id: 'verifyEmail',
    method: 'GET',
    path: '/:actor/www/verify_email',
    access: 'public',
    limit: ['email_verification/source', 'email_verification/target', 'email_verification/total'],
    page: true,
    summary: 'The page of a verification link in its older form',
    query: { token: 'Of the link', format: verifyQuery.format },
    responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(400, 403, 404, 410, 429) },
    handler: (exchange) => showLink(exchange, exchange.query.get('token'), exchange.actor.id),
  },
  {
    id: 'followEmail',
    method: 'POST',
    path: '/:actor/www/verify_email',
    access: 'open',
    limit: ['email_verification/source', 'email_verification/target', 'email_verification/total'],
    page: true,
    category: 'actor',
    takesForeignPosts: true,
    summary: 'Verifies the address by the token of a link; without one, the owner asks for another link',
    request: { 'application/x-www-form-urlencoded': formFields },
    responses: {
      200: { text: 'Verified', type: 'text/html' },
      204: 'Another link is on its way',
      ...errorResponses(400, 401, 403, 404, 410, 429),
    },
    handler: followOrResend,
  },
]

/** A program says so; everybody else gets a page. */
function isForProgram({ request, query }: Pick<Exchange, 'request' | 'query'>): boolean {
  return query.get('format') === 'json' || acceptsJsonByName(request)
}

async function ask(exchange: Exchange): Promise<Answer> {
  const { parts, request, query } = exchange
  const token = query.get('verify')
  if (token !== undefined) return showLink(exchange, token)
  const session = query.get('session')
  if (session === undefined) throw new ServiceError('bad_request', 'Cannot ask for an address: session is missing')
  const asking = await parts.signIn.freeText.look(session, browserOf(request))
  refuseStrangers(exchange, asking)
  return isForProgram(exchange)
    ? json(200, { ...emailValues(exchange, session, asking), action: 'email_required' })
    : emailPage(exchange, session, asking)
}

function emailValues({ parts }: Exchange, session: string, { provider, displayName }: Asking): object {
  return {
    session_id: session,
    form_action: `${parts.basePath}/oauth/email`,
    form_method: 'POST',
    provider,
    provider_display: displayName,
    message: messageFor(displayName),
    verified_emails: [],
    has_verified_emails: false,
  }
}

/** A page of this service goes on with what was begun in its browser alone: anybody could send its visitors a link with theirs. */
function refuseStrangers({ parts, request }: Exchange, { isBound }: Asking): void {
  if (isBound || originOf(request, new URL(parts.baseUrl).origin) !== 'same') return
  throw new ServiceError(
    'bad_request',
    'Cannot go on with this sign-in here: an application began it and goes on with it',
  )
}

function messageFor(displayName: string): string {
  return `${displayName} does not say which e-mail address is yours. Enter the one by which you want to be known here.`
}

async function emailPage(
  { parts }: Exchange,
  session: string,
  asking: Asking,
  refused: { readonly error: ServiceError; readonly email: string } | null = null,
): Promise<Answer> {
  if (!asking.isBound) {
    throw new ServiceError(
      'bad_request',
      'Cannot show a page for this sign-in: an application began it and goes on with it',
    )
  }
  const page = await parts.pages.email({
    base_path: parts.basePath,
    name: parts.identity.name,
    session_id: session,
    action: `${parts.basePath}/oauth/email`,
    method: 'POST',
    provider: asking.provider,
    provider_display: asking.displayName,
    message: messageFor(asking.displayName),
    error: refused?.error.message ?? null,
    email: refused?.email ?? '',
    verified_emails: [],
    show_dropdown: false,
  })
  return html(refused?.error.status ?? 200, page)
}

async function enter(exchange: Exchange): Promise<Answer> {
  const { parts, request } = exchange
  const fields = await readSpaFields(request, parts.config)
  const token = fields.get('verify')
  if (token !== undefined) {
    await exchange.charge('email_verification')
    return follow(exchange, token)
  }
  const typed = fields.get('email') ?? ''
  const session = fields.get('session')
  const browser = browserOf(request)
  const isProgram = isForProgram(exchange) || !acceptsPages(request)
  const looked = parts.signIn.freeText.look(session ?? '', browser)
  const waits = await looked.then(
    () => true,
    () => false,
  )
  // Who does not sign in anywhere must not use up what the owner of an address may enter.
  await exchange.charge('email_entry', waits ? (parseAddress(typed) ?? typed) : undefined)
  if (session === undefined) throw new ServiceError('bad_request', 'Cannot enter an address: session is missing')
  const asking = await looked
  refuseStrangers(exchange, asking)
  if (!isProgram && !asking.isBound) return emailPage(exchange, session, asking)
  try {
    const device = deviceOf(request.header('user-agent'))
    const entered = await parts.signIn.freeText.enter({ session, email: typed, browser, device })
    return await (isProgram ? enteredByProgram(exchange, entered) : enteredOnPage(exchange, entered))
  } catch (error) {
    const isForForm = error instanceof ServiceError && (error.code === 'invalid_value' || error.code === 'actor_exists')
    if (isProgram || !isForForm || error instanceof SignInRefusal) throw error
    return emailPage(exchange, session, asking, { error, email: typed })
  }
}

type Entered = Awaited<ReturnType<Exchange['parts']['signIn']['freeText']['enter']>>

function enteredOnPage(exchange: Exchange, { tokens, asking }: Entered): Promise<Answer> {
  const { flow } = asking
  const path =
    flow.kind === 'web' && flow.redirect !== null ? exchange.parts.signIn.targets.parsePath(flow.redirect) : null
  return signedIn(exchange, tokens, path)
}

function enteredByProgram({ parts }: Exchange, { tokens, address, asking }: Entered): Answer {
  // A cookie is given to the browser that began, and to no other.
  const delivery = asking.flow.kind === 'spa' && asking.isBound ? asking.flow.delivery : 'json'
  return tokenAnswer(tokens, delivery, {
    status: 'success',
    message: 'You are signed in; the address waits to be verified',
    email: address,
    redirect_url: `${parts.basePath}/${tokens.actorId}/${parts.config.webUi ? 'www' : 'app'}`,
    email_requires_verification: true,
  })
}

/** Programs that look through mail open links as browsers do: a page changes nothing, and a program that asks for JSON means it. */
async function showLink(exchange: Exchange, token: string | undefined, actorId?: string): Promise<Answer> {
  const { parts, request } = exchange
  if (token === undefined) throw new ServiceError('bad_request', 'Cannot verify an address: the token is missing')
  if (isForProgram(exchange) && request.method === 'GET') return follow(exchange, token, actorId)
  const found = await parts.signIn.verification.look({ token, ...(actorId === undefined ? {} : { actorId }) })
  return verificationPage(exchange, found, token, {
    status: 'confirm',
    message: 'Somebody entered this address here, to be known by it. Verify it if that was you.',
  })
}

async function follow(exchange: Exchange, token: string, actorId?: string): Promise<Answer> {
  const { parts, request } = exchange
  const session = accessTokenOf(request)
  const signedInTo = session === null ? null : await parts.tokens.validate(session)
  const verified = await parts.signIn.verification.follow({
    token,
    browser: browserOf(request),
    signedInTo: signedInTo?.chain.kind === 'session' ? signedInTo.chain.actorId : null,
    ...(actorId === undefined ? {} : { actorId }),
  })
  const message = 'Thank you: the address is verified.'
  if (!isForProgram(exchange)) return verificationPage(exchange, verified, '', { status: 'verified', message })
  return json(200, {
    success: true,
    status: 'verified',
    message,
    email: verified.address,
    redirect_url: `${parts.basePath}/${verified.actor.id}/www`,
  })
}

async function verificationPage(
  { parts }: Exchange,
  { actor, address }: Verified,
  token: string,
  said: { readonly status: 'confirm' | 'verified'; readonly message: string },
): Promise<Answer> {
  const page = await parts.pages.verification({
    base_path: parts.basePath,
    name: parts.identity.name,
    ...said,
    actor_id: actor.id,
    email: address,
    action: `${parts.basePath}/oauth/email`,
    token,
    redirect_url: `${parts.basePath}/${actor.id}/${parts.config.webUi ? 'www' : 'app'}`,
  })
  return html(200, page)
}

async function followOrResend(exchange: OpenExchange): Promise<Answer> {
  const { parts, request, query, actor } = exchange
  const fields: Params = await readSpaFields(request, parts.config)
  const token = fields.get('token') ?? fields.get('verify') ?? query.get('token')
  if (token !== undefined) return follow(exchange, token, actor.id)
  await exchange.authorised()
  await exchange.charge('email_entry', actor.id)
  await parts.signIn.verification.resend(actor, browserOf(request))
  return noContent()
}
