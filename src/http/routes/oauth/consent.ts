/** The owner’s answer to a client: on the page, and after a sign-in at a provider. */
import type { AuthorizationRequest } from '../../../authorization-server/authorization-request.ts'
import { type Consents, finishPath } from '../../../authorization-server/consents.ts'
import { OAuthError } from '../../../authorization-server/oauth-error.ts'
import type { Config } from '../../../config/options.ts'
import { ServiceError } from '../../../errors.ts'
import { optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { type Bodied, defineRoute } from '../../dispatch/define-route.ts'
import type { Route, VisitorExchange } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import { beginAddress, type ProviderDeps, webProviders } from '../../dispatch/sign-in-address.ts'
import { browserOf } from '../../edge/cookies.ts'
import { type HttpResponse, redirect } from '../../edge/response.ts'
import { type AuthorizationRequestDeps, judgeAuthorizationRequest } from './authorize.ts'
import { backWithCode, backWithError, type ClientRedirectDeps } from './client-redirect.ts'
import { type OfferedTypeDeps, offeredTypes } from './consent-page.ts'
import { type OAuthFields, onPage } from './oauth-response.ts'
import { oauthForm } from './oauth-schemas.ts'
import { signedInOwner, type SignedInOwnerDeps } from './signed-in-owner.ts'

const finishQuery = {
  consent: optional(stringField('What the owner agreed to, in this browser')),
  error: optional(stringField('Why nobody signed in')),
}

export interface ConsentRouteDeps
  extends AuthorizationRequestDeps,
    OfferedTypeDeps,
    ProviderDeps,
    SignedInOwnerDeps,
    ClientRedirectDeps {
  /** The path that every address of the service begins with; empty without a prefix. */
  readonly basePath: string
  readonly consents: Consents
  readonly config: Pick<Config, 'clientTrustTypes'>
}

export function consentRoutes(deps: ConsentRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'authorizeDecision',
      method: 'POST',
      path: '/oauth/authorize',
      access: 'visitor',
      page: true,
      cors: 'page',
      // The value in the form belongs to this browser and is good once: nobody else can send it.
      takesForeignPosts: true,
      limit: ['authorize/source', 'authorize/total'],
      summary: 'The owner’s answer',
      request: oauthForm('consent', 'decision', 'trust_type', 'provider', 'email'),
      responses: { 303: 'To the provider, or back to the client', ...errorResponses(400, 403) },
      handler: (exchange) => decide(deps, exchange),
    }),
    defineRoute({
      id: 'authorizeFinish',
      method: 'GET',
      path: finishPath,
      access: 'visitor',
      page: true,
      takesNoHead: true,
      summary: 'Back from the provider: the client gets its code',
      query: finishQuery,
      responses: { 302: 'Back to the client with `code` or `error`, `state` and `iss`', ...errorResponses(400, 403) },
      handler: (exchange) => finish(deps, exchange),
    }),
  ]
}

async function decide(
  deps: ConsentRouteDeps,
  { request, body, visitor }: VisitorExchange & Bodied<OAuthFields>,
): Promise<HttpResponse> {
  return onPage(request, async () => {
    // The form is on a page of this service. Another site that got hold of its values must not answer for the owner.
    if (visitor.site === 'other') {
      throw new ServiceError('forged_request', 'Cannot take this answer: another site sent it. Nothing was authorized.')
    }
    const fields = await body()
    if (fields.repeated !== null) throw new OAuthError('invalid_request', `${fields.repeated} is given twice`)
    // What a form of another maker repeats of the request is judged as the request was (CHOICE-60: both GET and POST).
    const judged = fields.has('client_id') ? await judgeAuthorizationRequest(deps, fields) : null
    if (judged !== null && 'answer' in judged) return judged.answer
    const decision = decisionIn(deps, fields)
    const browser = browserOf(request)
    const answered = browser === null ? null : await deps.consents.answered(fields.get('consent') ?? '', browser)
    if (browser === null || answered === null) {
      throw new ServiceError(
        'forbidden',
        'Cannot take this answer: the page is too old, was used before, or belongs to another browser. Please begin again in the program.',
      )
    }
    const asked = answered.request
    if (decision.kind === 'deny') {
      const error = new OAuthError('access_denied', 'The owner did not let the client in')
      return backWithError(deps.baseUrl, asked.redirectUri, asked.state, error, 303)
    }
    const { trustType } = decision
    if (decision.kind === 'sign-in') {
      const given = await deps.consents.give({ request: asked, trustType }, browser)
      const redirectTo = `${deps.basePath}${finishPath}?consent=${given}`
      const { provider, hint } = decision
      return redirect(303, beginAddress(deps, provider, { redirect: redirectTo, hint }))
    }
    const owner = await signedInOwner(deps, visitor)
    if (owner === null || owner.id !== answered.ownerId) {
      throw new ServiceError(
        'forbidden',
        'Cannot let the client in: whom the page spoke of is not signed in any more. Please begin again in the program.',
      )
    }
    return backWithCode(deps, owner, { request: asked, trustType }, 303)
  })
}

type Decision =
  | { readonly kind: 'deny' }
  /** As who is signed in. */
  | { readonly kind: 'allow'; readonly trustType: string }
  /** As who the provider says it is. */
  | {
      readonly kind: 'sign-in'
      readonly trustType: string
      readonly provider: string
      readonly hint: string | undefined
    }

/** Judged before anything is spent. */
function decisionIn(deps: ConsentRouteDeps, { get }: OAuthFields): Decision {
  if (get('decision') === 'deny') return { kind: 'deny' }
  const trustType = get('trust_type') ?? 'mcp_client'
  if (!offeredTypes(deps).includes(trustType)) {
    throw new ServiceError('bad_request', 'Cannot let the client in: this kind of relationship is not offered')
  }
  const [provider, hint] = [get('provider'), get('email')]
  if (provider === undefined && hint === undefined) {
    if (get('decision') === 'allow') return { kind: 'allow', trustType }
    throw new OAuthError('invalid_request', 'The form says neither provider nor email nor decision')
  }
  const [byDefault] = webProviders(deps)
  const name = webProviders(deps).find((known) => known.name === provider)?.name
  const chosen = provider === undefined ? byDefault?.name : name
  if (chosen === undefined) throw new ServiceError('bad_request', 'Cannot let the client in: nobody can sign in there')
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
    if (given !== null && refusal !== undefined) return backRefused(deps.baseUrl, given.request, refusal)
    if (owner === null || given === null) {
      throw new ServiceError(
        'forbidden',
        'Cannot let the client in: nobody signed in, or this was agreed to elsewhere or too long ago. Please begin again in the program.',
      )
    }
    return backWithCode(deps, owner, given, 302)
  })
}

/** Nobody signed in: what the client is told of why. */
function backRefused(issuer: string, { redirectUri, state }: AuthorizationRequest, why: string): HttpResponse {
  const error = unforeseen.has(why)
    ? new OAuthError('server_error', 'The provider could not say who the owner is')
    : new OAuthError(
        'access_denied',
        why === 'no_address' ? 'The provider vouches for no address of the owner' : 'The owner did not sign in',
      )
  return backWithError(issuer, redirectUri, state, error)
}

/** Reasons of the sign-in, and codes of providers, that nobody decided. */
const unforeseen: ReadonlySet<string> = new Set([
  'exchange_failed',
  'identity_failed',
  'lookup_failed',
  'server_error',
  'temporarily_unavailable',
])
