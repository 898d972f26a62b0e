/** Calls to other actors: what is asked for, and everything that can come of it. */

export interface PeerRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute. Checked before every connection, whatever it came from. */
  readonly url: string
  /** The clear secret of the relationship; sent only when `url` lies below `baseuri`. */
  readonly bearer?: { readonly secret: string; readonly baseuri: string }
  readonly basic?: { readonly user: string; readonly password: string; readonly baseuri: string }
  /** JSON text, or bytes when `headers` names their `Content-Encoding`. */
  readonly body?: string | Uint8Array | undefined
  /** Besides those that the client sets itself: credentials, encodings, ids of the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Seconds to connect and to the end of the answer; the configured ones unless given. Connecting never takes longer
   * than configured.
   */
  readonly timeouts?: { readonly connectSeconds: number; readonly readSeconds: number }
  /** 1 MiB unless given. */
  readonly maxAnswerBytes?: number
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
  | NoAnswer

/** `reason` is for the log alone: what it tells about names and addresses would map the network for a stranger. */
export type NoAnswer =
  /** The request certainly did not reach the peer: not allowed, no such name, refused, no secure channel. */
  | { readonly kind: 'unreached'; readonly reason: string }
  /** It may or may not have had its effect: the connection broke or time ran out after it was sent. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** What whoever caused the call may be told: the same for every kind of failure. */
export function neutralText(_outcome: NoAnswer): string {
  return 'The peer could not be reached'
}

/** The one way out to an address that somebody chose. */
export interface PeerClient {
  /** Never rejects. */
  call(request: PeerRequest): Promise<PeerOutcome>
  /** Ends running calls. */
  close(): Promise<void>
}
