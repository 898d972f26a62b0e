/** The owner’s decision on a client: on the page, and after a sign-in at a provider. */
import type { Actor } from '../../actor/actor.ts'
import type { AuthorizationRequest } from '../../authorization-server/authorization-request.ts'
import { type AskingPage, type ConsentOnPage, type Consents, finishPath } from '../../authorization-server/consents.ts'
import { OAuthError } from '../../authorization-server/oauth-error.ts'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { optional, stringField, type ValuesOf } from '../../json/fields.ts'
import { type Bodied, defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route, VisitorExchange } from '../../http/dispatch/route.ts'
import { errorResponses } from '../../http/dispatch/schemas.ts'
import { beginAddress, type ProviderDeps, webProviders } from '../../http/dispatch/sign-in-address.ts'
import { browserOf } from '../../http/edge/cookies/cookies.ts'
import type { HttpRequest } from '../../http/edge/request.ts'
import { type HttpResponse, redirect } from '../../http/edge/response.ts'
import { type AuthorizationRequestDeps, judgeAuthorizationRequest } from './authorize.ts'
import { alreadyDecided, backWithCode, backWithError, type ClientRedirectDeps, leavingTo } from './client-redirect.ts'
import { type OfferedTypeDeps, offeredTypes } from './consent-page.ts'
import { approveDevice, denyDevice, type DeviceDecisionDeps } from './device-decision.ts'
import { type OAuthFields, onPage } from '../../http/dispatch/oauth/oauth-response.ts'
import { oauthForm } from '../../http/dispatch/oauth/oauth-schemas.ts'
import { signedInOwner, type SignedInOwnerDeps } from './signed-in-owner.ts'

const finishQuery = {
  consent: optional(stringField('The consent that the owner gave in this browser')),
  error: optional(stringField('Why the sign-in failed')),
}

export interface ConsentRouteDeps
  extends AuthorizationRequestDeps,
    OfferedTypeDeps,
    ProviderDeps,
    SignedInOwnerDeps,
    ClientRedirectDeps,
    DeviceDecisionDeps {
  /** The path that every address of the service begins with; empty without a prefix. */
  readonly basePath: string
  readonly consents: Consents
  readonly config: Pick<Config, 'clientTrustTypes' | 'formerBaseUrls' | 'mode'>
}

export function consentRoutes(deps: ConsentRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'authorizeDecision',
      method: 'POST',
      path: '/oauth/authorize',
      access: 'visitor',
      freshSignIn: 'some',
      page: true,
      cors: 'page',
      // The form value is bound to this browser and valid once, so another site cannot send it.
      takesForeignPosts: true,
      limit: ['authorize/source', 'authorize/total'],
      summary: 'Takes the owner’s decision',
      request: oauthForm('consent', 'decision', 'trust_type', 'provider', 'email'),
      responses: {
        200: 'For a browser: the page that continues to the client',
        303: 'To the provider, or back to the client',
        ...errorResponses(400, 403),
      },
      handler: (exchange) => decide(deps, exchange),
    }),
    defineRoute({
      id: 'authorizeFinish',
      method: 'GET',
      path: finishPath,
      access: 'visitor',
      freshSignIn: 'some',
      page: true,
      takesNoHead: true,
      summary: 'Back from the provider: the client gets its code',
      query: finishQuery,
      responses: {
        200: 'For a browser: the page that continues to the client',
        302: 'Back to the client with `code` or `error`, `state` and `iss`',
        ...errorResponses(400, 403),
      },
      handler: (exchange) => finish(deps, exchange),
    }),
  ]
}

async function decide(
  deps: ConsentRouteDeps,
  { request, body, visitor }: VisitorExchange & Bodied<OAuthFields>,
): Promise<HttpResponse> {
  return onPage(request, async () => {
    // Another site that obtained the form values must not decide for the owner.
    if (visitor.site === 'other') throw fromOtherSite()
    const fields = await body()
    if (fields.repeated !== null) throw new OAuthError('invalid_request', `${fields.repeated} is given twice`)
    // A custom consent form may repeat the request, which is then validated like a GET (CHOICE-60: both GET and POST).
    const judged = fields.has('client_id') ? await judgeAuthorizationRequest(deps, fields) : null
    if (judged !== null && 'answer' in judged) return judged.answer
    const decision = decisionIn(deps, fields)
    const asking: AskingPage = { page: fields.get('consent') ?? '', browser: browserOf(request) ?? '' }
    const asked = await askedOn(deps, asking)
    const page = { ...asking, request: asked.request }
    if (decision.kind === 'deny') return refused(deps, request, { ...page, error: ownerRefused() })
    const { trustType } = decision
    if (decision.kind === 'sign-in' && !asked.isDecided) {
      const begun = await deps.consents.beginSignIn(asking, trustType)
      const redirectTo = `${deps.basePath}${finishPath}?consent=${begun}`
      const { provider, hint } = decision
      return redirect(303, beginAddress(deps, provider, { redirect: redirectTo, hint, isFresh: true }))
    }
    const owner = await signedInOwner(deps, visitor)
    if (decision.kind === 'allow' && owner?.id !== asked.ownerId) throw signedOut()
    // The page was decided after a sign-in at a provider, and its form comes again.
    if (owner === null) return alreadyDecided(deps, request, asked.request)
    return agreed(deps, { request, owner, consent: { ...page, trustType } }, 303)
  })
}

/** @throws ServiceError `forbidden` for a value that is too old, invented, or of another browser. */
async function askedOn(
  { consents }: ConsentRouteDeps,
  asking: AskingPage,
): Promise<NonNullable<Awaited<ReturnType<Consents['asked']>>>> {
  const asked = asking.browser === '' ? null : await consents.asked(asking)
  if (asked !== null) return asked
  throw pageRefusal(
    'forbidden',
    'Cannot accept the decision: the page is too old, or belongs to another browser. Start again in the program.',
    ({ consent }) => consent.expired,
    { needsBrowser: true },
  )
}

function fromOtherSite(): ServiceError {
  return pageRefusal(
    'forged_request',
    'Cannot accept the decision: another site sent it. Nothing was authorized.',
    ({ consent }) => consent.foreign,
  )
}

function signedOut(): ServiceError {
  return pageRefusal(
    'forbidden',
    'Cannot authorize the client: the owner on the page is no longer signed in. Start again in the program.',
    ({ consent }) => consent.signedOut,
  )
}

type Decision =
  | { readonly kind: 'deny' }
  /** Authorizes for the signed-in owner. */
  | { readonly kind: 'allow'; readonly trustType: string }
  /** Authorizes for the owner whom the provider authenticates. */
  | {
      readonly kind: 'sign-in'
      readonly trustType: string
      readonly provider: string
      readonly hint: string | undefined
    }

/** Validates the form before the one-time value is consumed. */
function decisionIn(deps: ConsentRouteDeps, { get }: OAuthFields): Decision {
  if (get('decision') === 'deny') return { kind: 'deny' }
  const trustType = get('trust_type') ?? 'mcp_client'
  if (!offeredTypes(deps).includes(trustType)) {
    throw new ServiceError('bad_request', 'Cannot authorize the client: this trust type is not offered')
  }
  const [provider, hint] = [get('provider'), get('email')]
  if (provider === undefined && hint === undefined) {
    if (get('decision') === 'allow') return { kind: 'allow', trustType }
    throw new OAuthError('invalid_request', 'The form has no provider, email or decision')
  }
  const [byDefault] = webProviders(deps)
  const name = webProviders(deps).find((known) => known.name === provider)?.name
  const chosen = provider === undefined ? byDefault?.name : name
  if (chosen === undefined)
    throw new ServiceError('bad_request', 'Cannot authorize the client: the provider is not available')
  return { kind: 'sign-in', trustType, provider: chosen, hint }
}

async function finish(
  deps: ConsentRouteDeps,
  { request, visitor, query: { consent = '', error: refusal } }: VisitorExchange<never, ValuesOf<typeof finishQuery>>,
): Promise<HttpResponse> {
  return onPage(request, async () => {
    const browser = browserOf(request)
    const owner = refusal === undefined ? await signedInOwner(deps, visitor) : null
    const mayFinish = owner !== null || refusal !== undefined
    const given = browser === null || !mayFinish ? null : await deps.consents.signedIn(consent, browser)
    if (given !== null && refusal !== undefined)
      return refused(deps, request, { ...given, error: signInFailed(refusal) }, 302)
    if (owner === null || given === null) {
      throw new ServiceError(
        'forbidden',
        'Cannot authorize the client: the sign-in failed, or the consent is too old or from another browser. Start again in the program.',
        { needsBrowser: true },
      )
    }
    return agreed(deps, { request, owner, consent: given }, 302)
  })
}

interface Agreement {
  readonly request: HttpRequest
  readonly owner: Actor
  readonly consent: ConsentOnPage
}

/** Leads to the client with its code, or lets the device fetch its tokens. */
async function agreed(
  deps: ConsentRouteDeps,
  { request, owner, consent }: Agreement,
  status: 302 | 303,
): Promise<HttpResponse> {
  const { device } = consent.request
  if (device !== undefined) {
    const shown = await approveDevice(deps, request, { owner, consent, device })
    return shown ?? alreadyDecided(deps, request, consent.request)
  }
  const back = await backWithCode(deps, owner, consent, status)
  return back === null ? alreadyDecided(deps, request, consent.request) : leavingTo(deps, request, back)
}

interface Refused extends AskingPage {
  readonly request: AuthorizationRequest
  readonly error: OAuthError
}

/** Leads to the client with the error, or lets the device know. */
async function refused(
  deps: ConsentRouteDeps,
  request: HttpRequest,
  { request: wanted, error, ...consent }: Refused,
  status: 302 | 303 = 303,
): Promise<HttpResponse> {
  const { device, redirectUri, state, issuer = deps.baseUrl } = wanted
  if (device !== undefined) {
    const shown = await denyDevice(deps, request, { consent, device, error })
    return shown ?? alreadyDecided(deps, request, wanted)
  }
  if (!(await deps.consents.refuse(consent, error))) return alreadyDecided(deps, request, wanted)
  return leavingTo(deps, request, backWithError(issuer, redirectUri, state, error, status))
}

function ownerRefused(): OAuthError {
  return new OAuthError('access_denied', 'The owner did not authorize the client')
}

/** The error that the client receives after a failed sign-in. */
function signInFailed(why: string): OAuthError {
  return unforeseen.has(why)
    ? new OAuthError('server_error', 'The provider could not authenticate the owner')
    : new OAuthError(
        'access_denied',
        why === 'no_address' ? 'The provider has no verified address of the owner' : 'The owner did not sign in',
      )
}

/** Sign-in reasons and provider codes that are failures, not decisions of the owner. */
const unforeseen: ReadonlySet<string> = new Set([
  'exchange_failed',
  'identity_failed',
  'lookup_failed',
  'server_error',
  'temporarily_unavailable',
])
