/** Who is calling, as every room sees it. */

/** How the credential arrived: a cookie is sent by browsers on their own and therefore counts for less. */
export type Via = 'basic' | 'bearer' | 'cookie'

export type Caller =
  | { readonly kind: 'anonymous' }
  /** The application itself, in process. */
  | { readonly kind: 'application' }
  /** The owner of the actor; `session` is the chain of the tokens that a sign-in gave, absent for the passphrase. */
  | { readonly kind: 'creator'; readonly via: Via; readonly session?: string }
  /** Another actor with a trust relationship. */
  | {
      readonly kind: 'peer'
      readonly peerId: string
      readonly relationship: string
      readonly approved: boolean
      readonly via: Via
    }
  /** An AI client acting for the owner within a trust of its own. */
  | {
      readonly kind: 'client'
      readonly clientId: string
      /** Its relationship with the actor, one for each user and client. */
      readonly peerId: string
      /** Empty while the owner has not approved it: then nothing is allowed. */
      readonly relationship: string
      readonly via: Via
    }
  /** The service that made the actor as a companion (`trustee_root`). */
  | { readonly kind: 'trustee'; readonly via: Via }

export const anonymous: Caller = { kind: 'anonymous' }
export const application: Caller = { kind: 'application' }

/** For log lines and reasons: never a secret. */
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
