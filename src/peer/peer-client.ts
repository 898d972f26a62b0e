/** Calls to other actors: requests and their outcomes. */

export interface PeerRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute URL. It is checked before every connection, whatever its source. */
  readonly url: string
  /** The clear secret of the relationship. Sent only when `url` is below `baseuri`. */
  readonly bearer?: { readonly secret: string; readonly baseuri: string }
  readonly basic?: { readonly user: string; readonly password: string; readonly baseuri: string }
  /** A JSON string, or bytes when `headers` has their `Content-Encoding`. */
  readonly body?: string | Uint8Array | undefined
  /** A body that is sent while it is made. `headers` has its `Content-Type`. */
  readonly stream?: AsyncIterable<Uint8Array> | undefined
  /** Additional headers. The client itself sets credentials, encodings and request ids. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Seconds to connect, and then to the end of the response. Default: the configured timeouts. Connecting never takes
   * longer than configured. `silenceSeconds` limits the time in which no piece of `stream` is sent, and the time from its end
   * to the end of the response.
   */
  readonly timeouts?: {
    readonly connectSeconds: number
    readonly readSeconds: number
    readonly silenceSeconds?: number
  }
  /** Default: 1 MiB. */
  readonly maxAnswerBytes?: number
}

export type PeerOutcome =
  | {
      readonly kind: 'answered'
      readonly status: number
      /** Names are in lower case. */
      readonly headers: Readonly<Record<string, string>>
      /** Never exceeds the size limit. A longer response has the outcome `unknown`. */
      readonly body: string
    }
  | NoAnswer

/** `reason` is only for the log. Its names and addresses would let a stranger map the network. */
export type NoAnswer =
  /** The request did not reach the peer: address not allowed, unknown host, connection refused, or TLS failure. */
  | { readonly kind: 'unreached'; readonly reason: string; readonly isTimeout?: true }
  /** The request may have had its effect: the connection broke or timed out after it was sent. */
  | {
      readonly kind: 'unknown'
      readonly reason: string
      readonly isTimeout?: true
      /** The status of an answer that exceeded the size limit. */
      readonly oversizedStatus?: number
    }

/** Returns the message for the user who caused the call. It is the same for every kind of failure. */
export function neutralText(_outcome: NoAnswer): string {
  return 'The peer could not be reached'
}

/** The only client for addresses that users choose. */
export interface PeerClient {
  /** Never rejects. */
  call(request: PeerRequest): Promise<PeerOutcome>
  /** Aborts running calls. */
  close(): Promise<void>
}
