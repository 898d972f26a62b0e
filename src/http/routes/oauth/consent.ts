/** The owner’s decision on a client: on the page, and after a sign-in at a provider. */
import type { Actor } from '../../../actor/actor.ts'
import type { AuthorizationRequest } from '../../../authorization-server/authorization-request.ts'
import { type Consents, finishPath, type GivenConsent } from '../../../authorization-server/consents.ts'
import { OAuthError } from '../../../authorization-server/oauth-error.ts'
import type { Config } from '../../../config/options.ts'
import { ServiceError } from '../../../errors.ts'
import { pageRefusal } from '../../../pages/shared/error-text.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import type { Route, VisitorExchange } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import { beginAddress, type ProviderDeps, webProviders } from '../../dispatch/sign-in-address.ts'
import type { BaseUrl } from '../../dispatch/urls.ts'
import { browserOf } from '../../edge/cookies/cookies.ts'
import type { HttpRequest } from '../../edge/request.ts'
import { type HttpResponse, redirect } from '../../edge/response.ts'
import { type AuthorizationRequestDeps, judgeAuthorizationRequest } from './authorize.ts'
import { backWithCode, backWithError, type ClientRedirectDeps, leavingTo } from './client-redirect.ts'
import { type OfferedTypeDeps, offeredTypes } from './consent-page.ts'
import { approveDevice, denyDevice, type DeviceDecisionDeps } from './device-decision.ts'
import { type OAuthFields, onPage } from './oauth-response.ts'
import { oauthForm } from './oauth-schemas.ts'
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
    if (visitor.site === 'other') {
      throw pageRefusal(
        'forged_request',
        'Cannot accept the decision: another site sent it. Nothing was authorized.',
        ({ consent }) => consent.foreign,
      )
    }
    const fields = await body()
    if (fields.repeated !== null) throw new OAuthError('invalid_request', `${fields.repeated} is given twice`)
    // A custom consent form may repeat the request, which is then validated like a GET (CHOICE-60: both GET and POST).
    const judged = fields.has('client_id') ? await judgeAuthorizationRequest(deps, fields) : null
    if (judged !== null && 'answer' in judged) return judged.answer
    const decision = decisionIn(deps, fields)
    const browser = browserOf(request)
    const answered = browser === null ? null : await deps.consents.answered(fields.get('consent') ?? '', browser)
    if (browser === null || answered === null) {
      throw pageRefusal(
        'forbidden',
        'Cannot accept the decision: the page is too old, was used before, or belongs to another browser. Start again in the program.',
        ({ consent }) => consent.expired,
        { needsBrowser: true },
      )
    }
    const asked = answered.request
    if (decision.kind === 'deny') return denied(deps, request, asked)
    const { trustType } = decision
    if (decision.kind === 'sign-in') {
      const given = await deps.consents.give({ request: asked, trustType }, browser)
      const redirectTo = `${deps.basePath}${finishPath}?consent=${given}`
      const { provider, hint } = decision
      return redirect(303, beginAddress(deps, provider, { redirect: redirectTo, hint, isFresh: true }))
    }
    const owner = await signedInOwner(deps, visitor)
    if (owner === null || owner.id !== answered.ownerId) {
      throw pageRefusal(
        'forbidden',
        'Cannot authorize the client: the owner on the page is no longer signed in. Start again in the program.',
        ({ consent }) => consent.signedOut,
      )
    }
    return agreed(deps, { request, owner, given: { request: asked, trustType } }, 303)
  })
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
    const isOver = owner === null && refusal === undefined
    const given = browser === null || isOver ? null : await deps.consents.given(consent, browser)
    if (given !== null && refusal !== undefined) return failed(deps, request, given.request, refusal)
    if (owner === null || given === null) {
      throw new ServiceError(
        'forbidden',
        'Cannot authorize the client: the sign-in failed, or the consent is too old or from another browser. Start again in the program.',
        { needsBrowser: true },
      )
    }
    return agreed(deps, { request, owner, given }, 302)
  })
}

interface Agreement {
  readonly request: HttpRequest
  readonly owner: Actor
  readonly given: GivenConsent
}

/** Leads to the client with its code, or lets the device fetch its tokens. */
async function agreed(
  deps: ConsentRouteDeps,
  { request, owner, given }: Agreement,
  status: 302 | 303,
): Promise<HttpResponse> {
  const { device } = given.request
  return device === undefined
    ? leavingTo(deps, request, await backWithCode(deps, owner, given, status))
    : approveDevice(deps, request, { owner, given, device })
}

function denied(
  deps: ConsentRouteDeps,
  request: HttpRequest,
  { device, redirectUri, state, issuer = deps.baseUrl }: AuthorizationRequest,
): Promise<HttpResponse> | HttpResponse {
  if (device !== undefined) return denyDevice(deps, request, device)
  const error = new OAuthError('access_denied', 'The owner did not authorize the client')
  return leavingTo(deps, request, backWithError(issuer, redirectUri, state, error, 303))
}

function failed(
  deps: ConsentRouteDeps,
  request: HttpRequest,
  asked: AuthorizationRequest,
  refusal: string,
): Promise<HttpResponse> | HttpResponse {
  return asked.device === undefined
    ? leavingTo(deps, request, backRefused(deps, asked, refusal))
    : denyDevice(deps, request, asked.device)
}

/** Redirects to the client with the error of a failed sign-in. */
function backRefused(
  { baseUrl }: BaseUrl,
  { redirectUri, state, issuer = baseUrl }: AuthorizationRequest,
  why: string,
): HttpResponse {
  const error = unforeseen.has(why)
    ? new OAuthError('server_error', 'The provider could not authenticate the owner')
    : new OAuthError(
        'access_denied',
        why === 'no_address' ? 'The provider has no verified address of the owner' : 'The owner did not sign in',
      )
  return backWithError(issuer, redirectUri, state, error)
}

/** Sign-in reasons and provider codes that are failures, not decisions of the owner. */
const unforeseen: ReadonlySet<string> = new Set([
  'exchange_failed',
  'identity_failed',
  'lookup_failed',
  'server_error',
  'temporarily_unavailable',
])
