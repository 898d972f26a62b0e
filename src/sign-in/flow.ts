import type { ClaimedActor } from './arrived-actors.ts'

/** The purpose of a sign-in. It is stored sealed with the state and decides how the callback finishes. */
export type Flow =
  /** A browser on the pages of the service. */
  | {
      readonly kind: 'web'
      /** Path on this host that the person requested. Null for the actor's own page. */
      readonly redirect: string | null
      /** The actor whose page was requested, or null. A sign-in with another identity is refused. */
      readonly expectedActorId: string | null
      /** The actor from another service that the person takes. */
      readonly claimed?: ClaimedActor
      /** The email address that the person typed before the sign-in. */
      readonly expectedIdentifier: string | null
      /**
       * True when an owner authorizes an AI client. The provider must confirm an address, and `redirect` receives a
       * refusal as `error`.
       */
      readonly forClient: boolean
    }
  /** A single-page or mobile application. */
  | {
      readonly kind: 'spa'
      /** Absolute, checked URL. Null when the application reads the response of the callback itself. */
      readonly target: string | null
      /** Path of the application. `{actor_id}` is replaced by the actor's id. */
      readonly returnPath: string
      readonly delivery: TokenDeliveryMode
      /** Also creates a relationship of this trust type (MCP authorization). */
      readonly trustType: string | null
    }

/** How an application gets its tokens. */
export type TokenDeliveryMode = 'json' | 'cookie' | 'hybrid'

/** Returns where the application continues: its path with the actor's id inserted or prepended. */
export function redirectUrlOf(returnPath: string, actorId: string): string {
  return returnPath.includes('{actor_id}') ? returnPath.replaceAll('{actor_id}', actorId) : `/${actorId}${returnPath}`
}

/** Returns true when the sign-in leaves the service afterwards, to an application or an AI client. */
export function leadsAway(flow: Flow): boolean {
  return flow.kind !== 'web' || flow.forClient
}
