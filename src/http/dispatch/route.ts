/** The route table's rows: everything that is known about an address before a request for it arrives. */
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
import type { Visitor } from './visitor.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * What every handler gets.
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
  /** The segments that `*` stands for, decoded. */
  readonly rest: readonly string[]
  /** Whose buckets the request takes from: its address, as far as it is known. */
  readonly source: () => string | null
  /**
   * Counts the request against the limiters of this name, where the route table cannot know that it has to be: the
   * target, where there is one, is what the request turned out to be about.
   *
   * @throws ServiceError `too_many_requests`
   */
  readonly charge: (name: LimitName, target?: string) => Promise<void>
  /**
   * Counts so much against what this client may ask of this process, without a query.
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
  /** Status to what it means, with the JSON Schema of the body where there is one. */
  readonly responses: Readonly<
    Record<number, string | { readonly text: string; readonly schema?: object; readonly type?: string }>
  >
  readonly query?: RequestFields
}

interface RouteBase extends Documentation {
  /** Unique; the operation id of the OpenAPI document. */
  readonly id: string
  readonly method: Method
  /** `:name` takes one segment, a final `*` any number of them (also none). */
  readonly path: string
  /** Segments that are more than a string. */
  readonly params?: RequestFields
  /**
   * A query parameter that the row does not name changes nothing. Without it such a request is 400, except on pages, whose
   * links carry parameters of other sites.
   */
  readonly unknownQuery?: 'ignored'
  /** People open the address in a browser: what is refused there is shown as a page. */
  readonly page?: true
  /** Something begins here, or the application's code runs, also on GET: the rule against forged requests holds as for a change. */
  readonly acts?: true
  /** A GET uses something up, ends something or sends the browser to a third party: HEAD is 405. */
  readonly takesNoHead?: true
  /** What scripts of other sites may do here. */
  readonly cors?: CorsFamily
  /** How refusals are written, where not as everywhere. */
  readonly errors?: ErrorFamily
  /** The limiters that every request here counts against; their target is the actor. */
  readonly limit?: readonly LimitKey[]
}

interface ForeignPosts {
  /** Pages of other sites may post here, because no cookie is the credential: the cross-site check is left out. */
  readonly takesForeignPosts?: true
}

/** Has no caller: the answer is the same for everyone, or depends on the body alone. */
export interface ServiceRoute extends RouteBase, ForeignPosts {
  readonly access: 'service'
  readonly handler: (exchange: Exchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface VisitorExchange<P extends string = string, Q = unknown> extends Exchange<P, Q> {
  readonly visitor: Visitor
}

/** For a person's browser or application, signed in or not: signing in and out, the front page, consent. */
export interface VisitorRoute extends RouteBase, ForeignPosts {
  readonly access: 'visitor'
  readonly handler: (exchange: VisitorExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface ClientExchange<P extends string = string, Q = unknown> extends Exchange<P, Q> {
  readonly client: ClientAccess
  /** Checks the access token again, for an answer that outlives it. Null once the token is no longer valid. */
  readonly reauthorize: () => Promise<ClientAccess | null>
}

/** For an AI client with an access token of the authorization server. A cookie is never its credential. */
export interface ClientRoute extends RouteBase {
  readonly access: 'client'
  /** Answers a request that needs no token; null for any other request. */
  readonly withoutToken?: (exchange: Exchange) => HttpResponse | null
  readonly handler: (exchange: ClientExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

/**
 * For a client of the authorization server. The handler authenticates the client, because OAuth defines that step: the
 * credential may be part of the form, Basic credentials are form-encoded first (RFC 6749 section 2.3.1), and a refusal is an
 * OAuth error. A cookie is never the credential, so other sites may post here.
 */
export interface OAuthClientRoute extends RouteBase {
  readonly access: 'oauth-client'
  readonly handler: (exchange: Exchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface PublicExchange<P extends string = string, Q = unknown> extends VisitorExchange<P, Q> {
  readonly actor: Actor
}

/** Below an actor, for everybody: no credential is judged. */
export interface PublicActorRoute extends RouteBase {
  readonly access: 'public'
  readonly handler: (exchange: PublicExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface OpenExchange<P extends string = string, Q = unknown> extends PublicExchange<P, Q> {
  /**
   * Judges the credentials, now and not before.
   *
   * @throws ServiceError `unauthorized` without credentials, `forbidden` with wrong ones.
   */
  readonly authenticated: () => Promise<Caller>
  /** As `authenticated`, and then the rights that the route asks for. */
  readonly authorised: () => Promise<Caller>
}

/** Below an actor, where something else is looked at before the caller is: credentials are read when the handler asks. */
export interface OpenActorRoute extends RouteBase {
  readonly access: 'open'
  /** What `authorised` asks for; a route that takes anybody has neither. */
  readonly category?: Category
  readonly owner?: OwnerRule
  readonly handler: (exchange: OpenExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

export interface PageExchange<P extends string = string, Q = unknown> extends ActorExchange<P, Q> {
  /** For the field `csrf_token` of the forms. */
  readonly csrfToken: string
  /** Judges the credential again, for an answer that may outlive the session. */
  readonly isStillOwner: () => Promise<boolean>
}

/** A page of the owner, for a session alone: the passphrase opens none. Browsers without a session are sent to sign-in. */
export interface PageRoute extends RouteBase {
  readonly access: 'www'
  readonly handler: (exchange: PageExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

/** Below an actor, for callers whose rights reach into the category. */
export interface ActorRoute extends RouteBase {
  readonly access: Exclude<Category, 'www'>
  /** The peer that the path names may come here too, or it alone. */
  readonly owner?: OwnerRule
  /** A browser whose credentials do not suffice is sent to the page for signing in, as one without any. */
  readonly signsIn?: true
  readonly handler: (exchange: ActorExchange<string, Params>) => Promise<HttpResponse> | HttpResponse
}

/** A route of the service itself, which belongs to no actor. */
export type OwnRoute = ServiceRoute | VisitorRoute | ClientRoute | OAuthClientRoute

export type Route = OwnRoute | PublicActorRoute | OpenActorRoute | PageRoute | ActorRoute

const kindsOfService: ReadonlySet<string> = new Set<OwnRoute['access']>([
  'service',
  'visitor',
  'client',
  'oauth-client',
])

export function isOfService(route: Route): route is OwnRoute {
  return kindsOfService.has(route.access)
}

/** The right that a method asks for, by the coarse rule; handlers ask for the exact one. */
export function rightOf(method: Method): 'read' | 'write' | 'delete' {
  return method === 'GET' ? 'read' : method === 'DELETE' ? 'delete' : 'write'
}
