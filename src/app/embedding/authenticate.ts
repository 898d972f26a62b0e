/** The option `authenticate`: the embedding program names its signed-in user. */
import type { HostRequest } from './sessions.ts'

/** A user of the embedding program. @public */
export interface HostUser {
  /** The email address. It selects the actor of the user, or creates it at the first sign-in. */
  readonly email: string
  /** True when the user proved to own the address. The sign-in of any other user is refused. */
  readonly verified: boolean
}

/**
 * Returns the user who is signed in at the embedding program; null or undefined when no user is. The service calls it when a
 * browser signs in. It must decide by what the browser sends along, such as a session cookie, and answer within 10 seconds.
 *
 * @param request The method, URL and headers of the request. The URL begins with the base URL, whatever the Host header says.
 * @param original The request as the server received it, such as the request of Express.
 * @public
 */
export type Authenticate = (
  request: Request,
  original: HostRequest,
) => HostUser | null | undefined | Promise<HostUser | null | undefined>
