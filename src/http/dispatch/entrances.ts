/** The checks for each kind of access in their order, and the redirect to sign-in. */
import type { Actor } from '../../actor/actor.ts'
import type { StoredActor } from '../../actor/actor-store.ts'
import type { Actors } from '../../actor/actors.ts'
import type { Authentication } from '../../auth/authenticate.ts'
import { type Credential, readCredential } from '../../auth/credentials.ts'
import type { ClientAccess } from '../../authorization-server/client-access.ts'
import { anonymous, type Caller } from '../../caller.ts'
import type { Registry } from '../../app/registry.ts'
import { actorClosed, actorMoving, quoted, ServiceError } from '../../errors.ts'
import { acceptsPages } from '../edge/accepts.ts'
import type { Operators } from '../../sign-in/operators/operators.ts'
import type { Params } from '../edge/params.ts'
import type { HttpRequest } from '../edge/request.ts'
import { type HttpResponse, redirect } from '../edge/response.ts'
import { type Admission, csrfTokenOf } from './admission.ts'
import type { ForgeryRule } from './anti-forgery.ts'
import type { ClientAdmission } from './client-admission.ts'
import type { FreshSignInDeps } from './fresh-sign-in.ts'
import { type IdempotencyDeps, onceOf, refuseIdempotencyKey } from './idempotency.ts'
import type { RequestState } from './request-state.ts'
import {
  type ActorRoute,
  type ClientRoute,
  type Exchange,
  isOfService,
  type OpenActorRoute,
  type OperatorRoute,
  type OwnRoute,
  type PageRoute,
  type Route,
} from './route.ts'
import { opensPagesByPassphrase, promptsForPassphrase } from './sign-in-address.ts'
import { loginRedirect, type SignInRedirectDeps, toSignIn } from './sign-in-redirect.ts'
import { Visitor } from './visitor.ts'

export interface EntranceDeps extends IdempotencyDeps, SignInRedirectDeps, FreshSignInDeps {
  readonly admission: Admission
  readonly clientAdmission: ClientAdmission
  readonly forgeryRule: ForgeryRule
  readonly actors: Pick<Actors, 'find'>
  readonly registry: Pick<Registry, 'of'>
  /** The path prefix of every URL of the service; empty without a prefix. */
  readonly basePath: string
  /** Finds the new address of an actor that moved to another service, with the signed notice. Null: it has not moved. */
  readonly movedTo: (actorId: string) => Promise<{ readonly url: string; readonly notice: string } | null>
  readonly authentication: Pick<Authentication, 'authenticate' | 'unauthorized'>
  readonly operators: Pick<Operators, 'of' | 'exist'>
  readonly contacts: { answered(caller: Caller, via: ConnectedVia): void }
}

type ConnectedVia = 'trust' | 'subscription'
type AtActor = Exchange<string, Params> & { readonly actor: Actor }

export class Entrances {
  readonly #deps: EntranceDeps

  constructor(deps: EntranceDeps) {
    this.#deps = deps
  }

  async enter(route: Route, exchange: Exchange<string, Params>, state: RequestState): Promise<HttpResponse> {
    if (isOfService(route)) {
      if (route.limit !== undefined) await this.#deps.admission.charge(route.limit, state, null)
      return this.#enterService(route, exchange, state)
    }
    const actor = await this.#resident(route, exchange)
    state.actorId = actor.id
    if (route.limit !== undefined) await this.#deps.admission.charge(route.limit, state, actor.id)
    const atActor = { ...exchange, actor }
    return await this.#enterActor(route, atActor, state)
  }

  /**
   * Finds the actor of the path.
   *
   * @throws ServiceError `actor_not_found`; `actor_moved` with its new address; `actor_moving` while it moves;
   *   `unavailable` while its content is replaced; `actor_suspended`; `unknown_kind`.
   */
  async #resident(route: Route, exchange: Exchange<string, Params>): Promise<Actor> {
    const { actors, registry, movedTo, basePath } = this.#deps
    const { params, request } = exchange
    const id = params['actor'] ?? ''
    const found = await actors.find(id)
    if (found !== null) registry.of(found)
    if (found?.residence === 'here' || (found?.residence === 'moving' && route.servesMoving === true)) return found
    const hasLeft = found?.residence === 'moved'
    if (hasLeft && route.servesMoving === true && (await this.#isOwnerOf(found, exchange))) return found
    const moved = found === null || hasLeft ? await movedTo(id) : null
    if (moved !== null) throw actorMoved(moved, request, basePath)
    throw notServed(id, found, route)
  }

  #enterActor(
    route: Exclude<Route, OwnRoute>,
    exchange: AtActor,
    state: RequestState,
  ): Promise<HttpResponse> | HttpResponse {
    switch (route.access) {
      case 'public':
        return route.handler({ ...exchange, visitor: this.#visitor(exchange) })
      case 'www':
        return this.#page(route, exchange, state)
      case 'open':
        return this.#open(route, exchange, state)
      default:
        return this.#actor(route, exchange, state)
    }
  }

  async #enterService(route: OwnRoute, exchange: Exchange<string, Params>, state: RequestState): Promise<HttpResponse> {
    switch (route.access) {
      case 'client':
        return this.#client(route, exchange, state)
      case 'oauth-client':
        return route.handler(exchange)
      case 'operator':
        return this.#operator(route, exchange, state)
      default:
        if (route.takesForeignPosts !== true) await this.#deps.admission.crossSite(route, exchange)
        return route.access === 'service'
          ? route.handler(exchange)
          : route.handler({ ...exchange, visitor: this.#visitor(exchange) })
    }
  }

  #visitor({ request }: Exchange): Visitor {
    return new Visitor(this.#deps, request)
  }

  /** A header is never the credential: browsers add remembered Basic credentials. */
  async #operator(
    route: OperatorRoute,
    exchange: Exchange<string, Params>,
    state: RequestState,
  ): Promise<HttpResponse> {
    const { admission, operators, freshSignIn } = this.#deps
    const { request } = exchange
    if (!(await operators.exist())) throw new ServiceError('not_found', 'This service has no operators')
    const visitor = this.#visitor(exchange)
    const { csrfToken } = visitor
    const session = csrfToken === null ? null : await visitor.pageSession()
    if (session === null || csrfToken === null) {
      if (acceptsPages(request)) return toSignIn(this.#deps, exchange, admission.credential(exchange, state), false)
      throw new ServiceError('unauthorized', 'Sign in as an operator first')
    }
    await admission.crossSite(route, exchange)
    const operator = await operators.of(session.chain)
    if (operator === null) throw new ServiceError('forbidden', 'Only operators of the service may do this')
    if (route.freshSignIn === 'all' && !freshSignIn.isFreshSession(session.chain)) throw freshSignIn.refusal()
    return route.handler({ ...exchange, operator, csrfToken, device: session.chain.device })
  }

  async #client(route: ClientRoute, exchange: Exchange<string, Params>, state: RequestState): Promise<HttpResponse> {
    const { admission, clientAdmission } = this.#deps
    clientAdmission.refuseForeignOrigin(exchange.request)
    const open = route.withoutToken?.(exchange) ?? null
    if (open !== null) return open
    clientAdmission.refuseForeignHost(exchange.request)
    const credential = admission.credential(exchange, state)
    if (credential.kind !== 'bearer' || credential.via === 'cookie') return clientAdmission.unauthorized()
    const reauthorize = (): Promise<ClientAccess | null> => clientAdmission.access(credential.token)
    const client = await reauthorize()
    if (client === null) return clientAdmission.unauthorized()
    if (!clientAdmission.hasScope(client)) return clientAdmission.insufficientScope()
    state.actorId = client.actor.id
    state.peerId = client.caller.peerId
    state.caller = client.caller
    return route.handler({ ...exchange, client, reauthorize })
  }

  async #actor(route: ActorRoute, exchange: AtActor, state: RequestState): Promise<HttpResponse> {
    const { admission, contacts } = this.#deps
    const credential = admission.credential(exchange, state)
    const isBrowser = acceptsPages(exchange.request)
    const mustChoose = route.signsIn === true
    if (credential.kind === 'none' && isBrowser) return this.#signIn(exchange, credential, state, mustChoose)
    let caller: Caller
    try {
      caller = await admission.caller(route, exchange, credential, state)
      admission.permission(route, exchange, caller)
    } catch (error) {
      if (isBrowser && mustChoose && isLackOfRights(error)) return this.#signIn(exchange, credential, state, true)
      throw error
    }
    const again = this.#signInAgain(route, exchange, caller)
    if (again !== null) return again
    const isStillOwner = (): Promise<boolean> => this.#isOwner(credential, exchange)
    const run = (): Promise<HttpResponse> | HttpResponse => route.handler({ ...exchange, caller, isStillOwner })
    if (route.showsSecret === true) refuseIdempotencyKey(exchange)
    const answer = await onceOf(this.#deps, exchange, caller, run)
    contacts.answered(caller, connectedVia(route))
    return answer
  }

  async #open(route: OpenActorRoute, exchange: AtActor, state: RequestState): Promise<HttpResponse> {
    const { admission, contacts } = this.#deps
    const credential = admission.credential(exchange, state)
    let known: Caller = anonymous
    const authenticated = async (): Promise<Caller> =>
      (known = await admission.caller(route, exchange, credential, state))
    const authorized = async (): Promise<Caller> => {
      await authenticated()
      admission.permission(route, exchange, known)
      return known
    }
    try {
      const answer = await route.handler({ ...exchange, visitor: this.#visitor(exchange), authenticated, authorized })
      contacts.answered(known, connectedVia(route))
      return answer
    } catch (error) {
      const isVisitor = credential.kind === 'none' && acceptsPages(exchange.request)
      if (isVisitor && isLackOfRights(error)) return this.#signIn(exchange, credential, state)
      throw error
    }
  }

  async #page(route: PageRoute, exchange: AtActor, state: RequestState): Promise<HttpResponse> {
    const { admission } = this.#deps
    const credential = admission.credential(exchange, state)
    const isBrowser = acceptsPages(exchange.request)
    // Pages need a browser session. The passphrase does not replace one, so it is not checked.
    if (credential.kind === 'basic' && !opensPagesByPassphrase(this.#deps)) {
      state.isSentToSignIn = true
      return loginRedirect(this.#deps, exchange)
    }
    if (credential.kind === 'none' && isBrowser) return this.#signIn(exchange, credential, state)
    let caller: Caller
    try {
      caller = await admission.caller(route, exchange, credential, state)
      admission.permission(route, exchange, caller)
    } catch (error) {
      if (isBrowser && isLackOfRights(error)) return this.#signIn(exchange, credential, state)
      throw error
    }
    const csrfToken = csrfTokenOf(credential)
    if (credential.kind === 'basic') await admission.crossSiteForm(route, exchange, csrfToken)
    const isStillOwner = (): Promise<boolean> => this.#isOwner(credential, exchange)
    return route.handler({ ...exchange, caller, csrfToken, isStillOwner })
  }

  /**
   * Redirects a browser that opened a URL to a fresh sign-in, which leads back. Null: the sign-in is fresh, or need not be.
   *
   * @throws ServiceError `insufficient_user_authentication`
   */
  #signInAgain(route: ActorRoute, { request, actor }: AtActor, caller: Caller): HttpResponse | null {
    const { freshSignIn } = this.#deps
    if (route.freshSignIn !== 'all' || freshSignIn.isFresh(caller)) return null
    const isOpened = route.method === 'GET' && request.method === 'GET' && acceptsPages(request)
    if (!isOpened) throw freshSignIn.refusal()
    const query = request.query === '' ? '' : `?${request.query}`
    return redirect(302, freshSignIn.address(actor.id, `${request.path}${query}`), { Vary: 'Accept' })
  }

  /** Whether the credential is that of the owner, who still finds the link to an actor that has left. */
  async #isOwnerOf(actor: Actor, exchange: Exchange): Promise<boolean> {
    const { request } = exchange
    const authorization = request.header('authorization')
    const credential = readCredential(authorization, request.header('cookie'), request.hasRepeated('authorization'))
    return credential.kind !== 'none' && this.#isOwner(credential, { ...exchange, actor })
  }

  async #isOwner(credential: Credential, { actor, source }: Pick<AtActor, 'actor' | 'source'>): Promise<boolean> {
    const { actors, authentication } = this.#deps
    try {
      const current = await actors.find(actor.id)
      return current !== null && (await authentication.authenticate(credential, current, source)).kind === 'creator'
    } catch (error) {
      if (isLackOfRights(error)) return false
      throw error
    }
  }

  /**
   * Redirects to a provider, or to the page where the user chooses one.
   *
   * @throws ServiceError `unauthorized` without a provider: the browser prompts for the creator and the passphrase.
   */
  async #signIn(
    exchange: Exchange,
    credential: Credential,
    state: RequestState,
    mustChoose = false,
  ): Promise<HttpResponse> {
    state.isSentToSignIn = true
    if (!mustChoose && promptsForPassphrase(this.#deps, exchange.request)) {
      const { authentication } = this.#deps
      throw authentication.unauthorized('Sign in with the creator and the passphrase of this account', null)
    }
    return toSignIn(this.#deps, exchange, credential, mustChoose)
  }
}

function connectedVia({ path }: Route): ConnectedVia {
  return path.startsWith('/:actor/subscriptions') ? 'subscription' : 'trust'
}

function isLackOfRights(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'unauthorized' || error.code === 'forbidden')
}

/** Redirects to the same path below the new address. */
function actorMoved(
  { url, notice }: { readonly url: string; readonly notice: string },
  { path, query }: Pick<HttpRequest, 'path' | 'query'>,
  basePath: string,
): ServiceError {
  const [, , ...below] = path.slice(basePath.length).split('/')
  const location = `${[url, ...below].join('/')}${query === '' ? '' : `?${query}`}`
  const headers = { Location: location, 'Cache-Control': 'no-store' }
  return new ServiceError('actor_moved', undefined, { headers, members: { moved_to: url, notice } })
}

/** The error for an actor that is not here, or does not answer now. */
function notServed(id: string, found: StoredActor | null, { path }: Route): ServiceError {
  if (found === null) return new ServiceError('actor_not_found', `Actor ${quoted(id)} does not exist`)
  if (found.residence === 'suspended') {
    // A peer may end a subscription after 403. It retries after 503.
    const isCallback = path.startsWith('/:actor/callbacks')
    return isCallback
      ? new ServiceError('unavailable', 'The actor accepts no callbacks now', { retryAfterSeconds: 3600 })
      : new ServiceError('actor_suspended')
  }
  return found.residence === 'replacing' ? actorClosed() : actorMoving()
}
