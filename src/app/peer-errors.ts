/** The errors of calls to a peer by code of the application. */
import { ServiceError } from '../errors.ts'
import type { Json } from '../json/json.ts'
import { present } from '../json/present.ts'

/**
 * The peer answered, and refused the call. A redirect, and an answer that cannot be read, count as a refusal too.
 *
 * @public
 */
export class PeerRefused extends Error {
  override readonly name = 'PeerRefused'
  /** HTTP status of the answer. */
  readonly status: number
  /**
   * The peer's error code, such as `forbidden`. For an answer without a code, it follows from the status. `redirected`,
   * `invalid_answer` and `answer_too_large` come from this service.
   */
  readonly code: string
  /** The field that the peer does not accept, when its answer names one. */
  readonly field: string | undefined
  /** The members of the peer's error, such as `approval_url`. */
  readonly details: { readonly [member: string]: Json }
  /** Seconds until the peer wants the next request (`Retry-After`), at most an hour. Undefined when it names no time. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    details: { readonly [member: string]: Json } = {},
    retryAfterSeconds?: number,
  ) {
    super(message)
    this.status = status
    this.code = code
    this.field = typeof details['field'] === 'string' ? details['field'] : undefined
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * No answer arrived: an address that is not allowed, an unknown host, or a connection that failed. `cause` is the reason.
 *
 * @public
 */
export class PeerUnreachable extends Error {
  override readonly name = 'PeerUnreachable'
  /** True when the request was sent, so the peer may have run the call. */
  readonly mayHaveRun: boolean

  constructor(mayHaveRun: boolean, reason: string) {
    super('The peer could not be reached', { cause: reason })
    this.mayHaveRun = mayHaveRun
  }
}

/** The peer did not answer in time. `cause` is the reason. @public */
export class PeerTimeout extends Error {
  override readonly name = 'PeerTimeout'
  /** True when the request was sent, so the peer may have run the call. */
  readonly mayHaveRun: boolean

  constructor(mayHaveRun: boolean, reason: string) {
    super('The peer did not answer in time', { cause: reason })
    this.mayHaveRun = mayHaveRun
  }
}

/** Answers that this service cannot use. The peer may have done what it was asked for. */
const unusable: ReadonlySet<string> = new Set(['redirected', 'invalid_answer', 'answer_too_large'])

/**
 * Statuses of a peer that would say something else about the call of this service: 401 and 407 make a client sign in again
 * or drop its token, although the credentials that failed are those of the relationship; 408 is a time-out here; 421, 426 and
 * 431 concern the connection to the peer.
 */
const aboutThePeer: ReadonlySet<number> = new Set([401, 407, 408, 421, 426, 431])

/**
 * Converts an error that application code did not catch. The refusal of a peer becomes `peer_refused` with the status of the
 * peer, and every other error of a peer `peer_failed`. `Retry-After` of the peer stays, because the caller would repeat the call
 * of the peer. The peer's message is for the application only.
 */
export function withoutPeerError(error: unknown): unknown {
  if (error instanceof PeerRefused) {
    const text = `The peer refused the call with status ${error.status}`
    const isRefusal = error.status >= 400 && error.status < 500 && !unusable.has(error.code)
    const detail = { cause: error, ...present({ retryAfterSeconds: error.retryAfterSeconds }) }
    if (!isRefusal) return new ServiceError('peer_failed', text, detail)
    return new ServiceError('peer_refused', text, {
      status: aboutThePeer.has(error.status) ? 403 : error.status,
      ...detail,
    })
  }
  if (error instanceof PeerUnreachable || error instanceof PeerTimeout)
    return new ServiceError('peer_failed', error.message, { reason: String(error.cause), cause: error })
  return error
}
