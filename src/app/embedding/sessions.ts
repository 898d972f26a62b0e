/** The requests of an embedding program, and the sessions of its own users. */
import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../caller.ts'
import type { ActorHandle } from '../actor-handle.ts'

/**
 * A request as the embedding server received it: web-standard, or of node:http, also with the members that a framework adds.
 *
 * @public
 */
export type HostRequest = Request | IncomingMessage

/** Frameworks may have a `Request` of their own, so the class does not decide. */
export function isWebRequest(request: HostRequest): request is Request {
  return typeof request.headers.get === 'function'
}

/**
 * The caller that the credentials of a request prove. `creator` is the owner of the actor. A `client` is an AI client, a
 * program or an API key of the owner, and may do only what its relationship grants.
 *
 * @public
 */
export type RequestCaller = Extract<Caller, { readonly kind: 'creator' | 'client' }> & { readonly actorId: string }

/**
 * A session that the embedding program began. Browsers need only the cookies, and other clients only the tokens.
 *
 * @public
 */
export interface BegunSession {
  /** The id by which the owner finds the session in the list of sessions. */
  readonly id: string
  readonly actorId: string
  /** The values of the `Set-Cookie` headers for the response. */
  readonly cookies: readonly string[]
  /** The bearer token of the `Authorization` header. */
  readonly accessToken: string
  /** Lifetime of the access token and of the session cookie, in seconds. */
  readonly expiresIn: number
  /** Gets the next access token at `/oauth/spa/token`, once. */
  readonly refreshToken: string
  /** Lifetime of the refresh token, in seconds. */
  readonly refreshExpiresIn: number
}

/** The sessions of the owners of actors, for the routes of an embedding program. @public */
export interface SessionsApi {
  /**
   * Begins a session of the owner, whom the embedding program has authenticated. It also ends the sessions of other owners
   * in the same browser.
   *
   * @throws ServiceError `actor_not_found`
   */
  begin(actor: Pick<ActorHandle, 'id'>, given: { readonly request: HostRequest }): Promise<BegunSession>
  /**
   * Ends the sessions that the request carries, in its cookies or its `Authorization` header. Returns the values of the
   * `Set-Cookie` headers that clear the cookies.
   */
  end(request: HostRequest): Promise<{ readonly cookies: readonly string[] }>
  /**
   * Ends every session of the owner, on all devices. The access of clients and peers continues. Returns the number of ended
   * sessions.
   *
   * @throws ServiceError `actor_not_found`
   */
  endAll(actor: Pick<ActorHandle, 'id'>): Promise<number>
}
