/** The steps between a route and its handler: limit, credential, cross-site check, caller, permission. */
import type { Actor } from '../../actor/actor.ts'
import type { Authentication } from '../../auth/authenticate.ts'
import { type Credential, readCredential } from '../../auth/credentials.ts'
import type { Caller } from '../../caller.ts'
import { judgeOwner } from '../../permission/owner.ts'
import { type Permission, refusal } from '../../permission/permission.ts'
import type { Limiter } from '../../rate-limit/limiter.ts'
import { type LimitKey, perOf } from '../../rate-limit/rates.ts'
import { antiForgeryValue, type ForgeryRule, refuseForgedForm, refuseForgery } from './anti-forgery.ts'
import type { RequestState } from './request-state.ts'
import { type ActorRoute, type Exchange, type OpenActorRoute, type PageRoute, type Route, rightOf } from './route.ts'

export interface AdmissionDeps {
  readonly authentication: Authentication
  readonly permission: Permission
  readonly limiter: Limiter
}

export class Admission {
  readonly #deps: AdmissionDeps
  readonly #forgeryRule: ForgeryRule

  constructor(deps: AdmissionDeps, forgeryRule: ForgeryRule) {
    this.#deps = deps
    this.#forgeryRule = forgeryRule
  }

  /**
   * Takes from the limit of a known browser alone, or from all others.
   *
   * @param browser The browser that has proven the target before. Null: any browser or program.
   * @throws ServiceError `too_many_requests`
   */
  async charge(
    limits: readonly LimitKey[],
    state: RequestState,
    target: string | null,
    browser: string | null = null,
  ): Promise<void> {
    const source = state.source()
    // Senders without an address share one pair, so that they cannot use up the target either.
    const pair = target === null ? null : `${source ?? ''}\n${target}`
    const whose = { source, target, total: '', pair, browser, client: null } as const
    const charged = limits.filter((limit) => (perOf(limit) === 'browser') === (browser !== null))
    state.limitHeaders = await this.#deps.limiter.charge(charged.map((limit) => ({ limit, of: whose[perOf(limit)] })))
  }

  credential({ request }: Exchange, state: RequestState): Credential {
    const credential = readCredential(
      request.header('authorization'),
      request.header('cookie'),
      request.hasRepeated('authorization'),
    )
    state.hasCredential = credential.kind !== 'none'
    return credential
  }

  /** @throws ServiceError `forged_request` when another site made the browser send the request. */
  async crossSite(route: Route, exchange: Exchange): Promise<void> {
    if (isChange(route, exchange)) await refuseForgery(exchange.request, this.#forgeryRule)
  }

  /**
   * Checks a form of a page that Basic credentials opened.
   *
   * @throws ServiceError `forged_request`
   */
  async crossSiteForm(route: Route, exchange: Exchange, csrfToken: string): Promise<void> {
    if (isChange(route, exchange)) await refuseForgedForm(exchange.request, this.#forgeryRule, csrfToken)
  }

  /** @throws ServiceError `unauthorized`, `forbidden`, `too_many_requests`, `forged_request` */
  async caller(
    route: Route,
    exchange: Exchange & { readonly actor: Actor },
    credential: Credential,
    state: RequestState,
  ): Promise<Caller> {
    const { authentication } = this.#deps
    const authenticated = authentication.authenticate(credential, exchange.actor, state.source)
    const caller = authenticated instanceof Promise ? await authenticated : authenticated
    if (caller.kind === 'anonymous') {
      throw authentication.unauthorized('Authentication required', route.access === 'www' ? null : exchange.actor)
    }
    // Routes that accept posts of other sites have no exception here, because the cookie may be the credential.
    if (isChange(route, exchange)) await refuseForgery(exchange.request, this.#forgeryRule)
    state.caller = caller
    if (caller.kind === 'peer') state.peerId = caller.peerId
    return caller
  }

  /** @throws ServiceError `forbidden` */
  permission(route: ActorRoute | PageRoute | OpenActorRoute, { method, params }: Exchange, caller: Caller): void {
    const category = route.access === 'open' ? route.category : route.access
    if (category === undefined) throw new Error(`Cannot check the rights for route ${route.id}: it has no category`)
    const wanted = { category, right: rightOf(method) }
    const asOwner =
      !('owner' in route) || route.owner === undefined
        ? null
        : judgeOwner(caller, params[route.owner.param] ?? '', route.owner)
    const { permission } = this.#deps
    const verdict = asOwner ?? permission.mayTouch(caller, wanted)
    if (!verdict.allowed) throw refusal(caller, wanted, verdict)
    permission.decided(caller, verdict)
  }
}

function isChange(route: Route, { request, method }: Exchange): boolean {
  return method !== 'GET' || request.method === 'POST' || route.acts === true
}

/** The anti-forgery value for the forms of a page that the credential opened. */
export function csrfTokenOf(credential: Credential): string {
  switch (credential.kind) {
    case 'bearer':
      return antiForgeryValue(credential.token)
    case 'basic':
      return antiForgeryValue(`${credential.user}:${credential.password}`)
    default:
      return ''
  }
}
