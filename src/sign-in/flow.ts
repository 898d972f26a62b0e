/** What a sign-in was begun for: it travels with the state, sealed, and says how the callback ends. */
export type Flow =
  /** A browser on the pages of the service. */
  | {
      readonly kind: 'web'
      /** Path on this host where the person wanted to go; null for the actor's own page. */
      readonly redirect: string | null
      /** The actor whose page was asked for, or null: somebody else's identity does not end in an actor of its own. */
      readonly expectedActorId: string | null
      /** The address that was typed beforehand. */
      readonly expectedIdentifier: string | null
      /**
       * An owner lets an AI client in and has to be known by an address that the provider vouches for: no other is asked
       * for, and `redirect` is told of a refusal (`error`).
       */
      readonly forClient: boolean
    }
  /** A single-page or mobile application. */
  | {
      readonly kind: 'spa'
      /** Absolute and judged; null where the application reads the answer of the callback itself. */
      readonly target: string | null
      /** Path of the application, `{actor_id}` standing for the actor. */
      readonly returnPath: string
      readonly delivery: TokenDeliveryMode
      /** Asks for a relationship of this kind as well (MCP authorization). */
      readonly trustType: string | null
    }

/** How an application gets its tokens. */
export type TokenDeliveryMode = 'json' | 'cookie' | 'hybrid'

/** Where the application goes on: its path with the actor in it, else behind the actor. */
export function redirectUrlOf(returnPath: string, actorId: string): string {
  return returnPath.includes('{actor_id}') ? returnPath.replaceAll('{actor_id}', actorId) : `/${actorId}${returnPath}`
}
