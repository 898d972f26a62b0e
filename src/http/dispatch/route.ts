/** The rows of the route table: everything that a route declares. */
import type { Actor } from '../../actor/actor.ts'
import type { ClientAccess } from '../../authorization-server/client-access.ts'
import type { Caller } from '../../caller.ts'
import type { ClientLimit, LimitKey, LimitName } from '../../rate-limit/rates.ts'
import type { Category } from '../../permission/operation.ts'
import type { OwnerRule } from '../../permission/owner.ts'
import type { RequestFields } from '../../json/fields.ts'
import type { BodyLimits } from '../edge/body.ts'
import type { HttpResponse } from '../edge/response.ts'
import type { CorsFamily } from '../edge/cors.ts'
import type { ErrorFamily } from '../edge/error-response.ts'
import type { HttpRequest } from '../edge/request.ts'
import type { Params } from '../edge/params.ts'
import type { RequestBody } from './request-body.ts'
import type { Operator } from '../../sign-in/operators/operators.ts'
import type { Visitor } from './visitor.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * The input of every handler.
 *
 * @typeParam P Names of the `:name` segments that the handler reads.
 * @typeParam Q Values of the query.
 */
export interface Exchange<P extends string = string, Q = unknown> {
  readonly request: HttpRequest
  readonly method: Method
  readonly query: Q
  /** The values of the `:name` segments, decoded. */
  readonly params: Readonly<Record<P, string>>
  readonly bodyLimits: BodyLimits
  /** The segments that `*` matched, decoded. */
  readonly rest: readonly string[]
  /** Returns the address whose rate-limit buckets the request takes from; null when it is unknown. */
  readonly source: () => string | null
  /**
   * Counts the request against the limiters of this name, for limits that depend on the content of the request. `target`
   * is the object that the request turned out to concern.
   *
   * @throws ServiceError `too_many_requests`
   */
  readonly charge: (name: LimitName, target?: string, browser?: string | null) => Promise<void>
  /** Notes the query parameters that a read ignored. */
  readonly noteIgnored: (names: readonly string[]) => void
  /**
   * Counts against the limit of this client in this process, without a query.
   *
   * @throws ServiceError `too_many_requests`
   */
  readonly chargeClient: (limit: ClientLimit, client: string, count: number) => void
}

export interface ActorExchange<P extends string = string, Q = unknown> extends Exchange<P, Q> {
  readonly actor: Actor
  readonly caller: Caller
}

export interface Documentation {
  readonly summary: string
  readonly request?: RequestBody<unknown>
  /** The description of each status, with the JSON Schema of the body if it has one. */
  readonly responses: Readonly<
    Record<number, string | { readonly text: string; readonly schema?: object; readonly type?: string }>
  >
  readonly query?: RequestFields
  /** Request headers, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  /** The responses have entity tags, or the changes accept conditions on them. */
  readonly conditions?: 'read' | 'write'
}

interface RouteBase extends Documentation {
  /** Unique; the operation id of the OpenAPI document. */
  readonly id: string
  readonly method: Method
  /** The pattern: `:name` matches one segment, a final `*` matches zero or more. */
  readonly path: string
  /** Schemas for the path segments that are not plain strings. */
  readonly params?: RequestFields
  /** Query parameters with a name in brackets, such as `where[due]`, with their descriptions. */
  readonly queryGroups?: Readonly<Record<string, string>>
  /**
   * Ignores undeclared query parameters of changes. Without this field they are 400, except on pages, whose links may carry
   * parameters of other sites. Reads ignore them anyway.
   */
  readonly unknownQuery?: 'ignored'
  /** Users open the URL in a browser, so errors are HTML pages. */
  readonly page?: true
  /** A GET here also starts something or runs application code, so the CSRF check applies as for a change. */
  readonly acts?: true
  /** A GET here consumes or ends something, or redirects to a third party, so HEAD is 405. */
  readonly takesNoHead?: true
  /** The CORS rules for scripts of other sites. Default: none. */
  readonly cors?: CorsFamily
  /** The format of error bodies, if not the default. */
  readonly errors?: ErrorFamily
  /**
   * The effect outlives or widens a session, so the owner must have signed in recently (docs/decisions/100). `some`: the
   * handler checks it, because the content of the request decides.
   */
  readonly freshSignIn?: 'all' | 'some'
  /** The response has a secret that the service does not keep, so an Idempotency-Key is refused. */
  readonly showsSecret?: true
  /** Serves the owner while the actor moves to another service. All others are 503 then. */
  readonly servesMoving?: true
  /** The limiters that every request counts against. Their target is the actor. */
  readonly limit?: readonly LimitKey[]
}

interface ForeignPosts {
  /** Skips the cross-site check: pages of other sites may post here, because no cookie is the credential. */
  readonly takesForeignPosts?: true
}

/** A route without a caller: the response is the same for every client, or depends only on the request. */
export interface ServiceRoute extends RouteBase, ForeignPosts {
  readonly access: 'service'
  readonly handler: (exchange: Exchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface VisitorExchange<P extends string = string, Q = unknown> extends Exchange<P, Q> {
  readonly visitor: Visitor
}

/** A route for browsers and applications, signed in or not: sign-in, sign-out, the front page, consent. */
export interface VisitorRoute extends RouteBase, ForeignPosts {
  readonly access: 'visitor'
  readonly handler: (exchange: VisitorExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface ClientExchange<P extends string = string, Q = unknown> extends Exchange<P, Q> {
  readonly client: ClientAccess
  /** Checks the access token again, for a stream that may outlive it. Returns null when the token is no longer valid. */
  readonly reauthorize: () => Promise<ClientAccess | null>
}

/** A route for AI clients with an access token of the authorization server. A cookie is never the credential. */
export interface ClientRoute extends RouteBase {
  readonly access: 'client'
  /** Answers a request that needs no token; null for any other request. */
  readonly withoutToken?: (exchange: Exchange) => HttpResponse | null
  readonly handler: (exchange: ClientExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

/**
 * A route for clients of the authorization server. The handler authenticates the client, because OAuth defines that step:
 * the credential may be in the form, Basic credentials are form-encoded first (RFC 6749 section 2.3.1), and failures are
 * OAuth errors. A cookie is never the credential, so other sites may post here.
 */
export interface OAuthClientRoute extends RouteBase {
  readonly access: 'oauth-client'
  readonly handler: (exchange: Exchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface PublicExchange<P extends string = string, Q = unknown> extends VisitorExchange<P, Q> {
  readonly actor: Actor
}

/** A route below an actor that is open to every client. No credential is checked. */
export interface PublicActorRoute extends RouteBase {
  readonly access: 'public'
  readonly handler: (exchange: PublicExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface OpenExchange<P extends string = string, Q = unknown> extends PublicExchange<P, Q> {
  /**
   * Authenticates the caller when the handler calls it.
   *
   * @throws ServiceError `unauthorized` without credentials, `forbidden` with wrong ones.
   */
  readonly authenticated: () => Promise<Caller>
  /** Authenticates the caller and checks the rights that the route needs. */
  readonly authorized: () => Promise<Caller>
}

/** A route below an actor that checks something before the caller. The handler decides when to authenticate. */
export interface OpenActorRoute extends RouteBase {
  readonly access: 'open'
  /** The category that `authorized` checks. A route without a rights check has neither `category` nor `owner`. */
  readonly category?: Category
  readonly owner?: OwnerRule
  readonly handler: (exchange: OpenExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

/** The input of a handler that may outlive the credential of its request. */
export interface OwnerExchange<P extends string = string, Q = unknown> extends ActorExchange<P, Q> {
  /** Checks again that the credential is the owner's, for a stream that may outlive it. */
  readonly isStillOwner: () => Promise<boolean>
}

export interface PageExchange<P extends string = string, Q = unknown> extends OwnerExchange<P, Q> {
  /** For the field `csrf_token` of the forms. */
  readonly csrfToken: string
}

/** An owner page, which needs a session, not the passphrase. Browsers without a session are redirected to sign-in. */
export interface PageRoute extends RouteBase {
  readonly access: 'www'
  readonly handler: (exchange: PageExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

/** A route below an actor for callers with rights in the category. */
export interface ActorRoute extends RouteBase {
  readonly access: Exclude<Category, 'www'>
  /** The rule for the peer that the path names: access in addition to the category, or exclusive access. */
  readonly owner?: OwnerRule
  /** Redirects a browser with insufficient credentials to the sign-in page, like a browser without credentials. */
  readonly signsIn?: true
  readonly handler: (exchange: OwnerExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface OperatorExchange<P extends string = string, Q = unknown> extends Exchange<P, Q> {
  readonly operator: Operator
  /** For the field `csrf_token` of the forms. */
  readonly csrfToken: string
  /** Device of the browser, such as `Firefox on Linux`. */
  readonly device: string
}

/** A page for operators of the service, which needs their session. */
export interface OperatorRoute extends RouteBase {
  readonly access: 'operator'
  readonly handler: (exchange: OperatorExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

/** A route of the service itself, which belongs to no actor. */
export type OwnRoute = OperatorRoute | ServiceRoute | VisitorRoute | ClientRoute | OAuthClientRoute

export type Route = OwnRoute | PublicActorRoute | OpenActorRoute | PageRoute | ActorRoute

const kindsOfService: ReadonlySet<string> = new Set<OwnRoute['access']>([
  'service',
  'visitor',
  'client',
  'oauth-client',
  'operator',
])

export function isOfService(route: Route): route is OwnRoute {
  return kindsOfService.has(route.access)
}

/** Returns the right that a method needs by the coarse rule. Handlers check the exact right. */
export function rightOf(method: Method): 'read' | 'write' | 'delete' {
  return method === 'GET' ? 'read' : method === 'DELETE' ? 'delete' : 'write'
}
