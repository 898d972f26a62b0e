/** The authenticated origin of a request, as every room sees it. */

/** How the credential arrived. Browsers add cookies to requests of any site, so a cookie counts for less. */
export type Via = 'basic' | 'bearer' | 'cookie'

/** The authenticated origin of a request. @public */
export type Caller =
  | { readonly kind: 'anonymous' }
  /** The application itself, in process. */
  | { readonly kind: 'application' }
  /** The owner of the actor. The passphrase has neither a session nor the time of a sign-in. */
  | {
      readonly kind: 'creator'
      readonly via: Via
      /** The token chain of the sign-in. */
      readonly session?: string
      /** When the person proved who they are, in Unix milliseconds. */
      readonly authenticatedAt?: number
    }
  /** Another actor with a trust relationship. */
  | {
      readonly kind: 'peer'
      readonly peerId: string
      readonly relationship: string
      readonly approved: boolean
      readonly via: Via
    }
  /** An AI client that acts for the owner within its own relationship. */
  | {
      readonly kind: 'client'
      readonly clientId: string
      /** The id of the client's relationship with the actor: one for each user and client. */
      readonly peerId: string
      /** Empty until the owner approves the client. An empty value grants nothing. */
      readonly relationship: string
      readonly via: Via
    }
  /** The service that created this actor as a companion (`trustee_root`). */
  | { readonly kind: 'trustee'; readonly via: Via }

export const anonymous: Caller = { kind: 'anonymous' }
export const application: Caller = { kind: 'application' }

/** Returns the name of a caller for log lines and reasons. The name never contains a secret. */
export function callerName(caller: Caller): string {
  switch (caller.kind) {
    case 'peer':
      return `peer ${caller.peerId}`
    case 'client':
      return `client ${caller.clientId}`
    default:
      return caller.kind
  }
}
