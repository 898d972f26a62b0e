/** Calls to other actors: what is asked for, and everything that can come of it. */

export interface PeerRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Absolute. Checked before every connection, whatever it came from. */
  readonly url: string
  /** The clear secret of the relationship; sent only when `url` lies below `baseuri`. */
  readonly bearer?: { readonly secret: string; readonly baseuri: string }
  readonly basic?: { readonly user: string; readonly password: string; readonly baseuri: string }
  /** JSON text. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Seconds to connect and to the end of the answer; the configured ones unless given. */
  readonly timeouts?: { readonly connectSeconds: number; readonly readSeconds: number }
}

export type PeerOutcome =
  | {
      readonly kind: 'answered'
      readonly status: number
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string>>
      /** At most the size limit; a longer answer is `unknown`. */
      readonly body: string
    }
  /** The request certainly did not reach the peer: not allowed, no such name, refused, no secure channel. */
  | { readonly kind: 'unreached'; readonly reason: string }
  /** It may or may not have had its effect: the connection broke or time ran out after it was sent. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** The one way out to an address that somebody chose. */
export interface PeerClient {
  call(request: PeerRequest): Promise<PeerOutcome>
  close(): Promise<void>
}
