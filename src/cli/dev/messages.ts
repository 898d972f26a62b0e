/** The messages between `troupe dev` and the process that runs the application. */

/** From the application's process. */
export type Report =
  /** Paths of files that the application was loaded from. */
  | { readonly kind: 'files'; readonly files: readonly string[] }
  /** The application is loaded, and can begin to listen. */
  | { readonly kind: 'loaded' }
  /** The application is listening. `freePort`: the port that the system chose. */
  | { readonly kind: 'ready'; readonly freePort: number | null }

/** To the application's process. */
export type Order =
  /** Load the application. The process has loaded the code of the service before. */
  | { readonly kind: 'load' }
  /** `isFirst`: print the welcome. */
  | { readonly kind: 'listen'; readonly isFirst: boolean }
  /** End, because a newer version of the application is loaded. */
  | { readonly kind: 'end' }
