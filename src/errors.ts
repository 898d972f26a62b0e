/**
 * The catalogue of errors. Domain code throws a `ServiceError` with a code from here; one function at the edge
 * (`http/edge/error-response.ts`) turns the error into a status and a body. This file imports nothing, so that every room may
 * import it.
 */
export const catalogue = {
  bad_request: { status: 400, text: 'The request is not valid' },
  invalid_json: { status: 400, text: 'The body is not valid JSON' },
  invalid_name: { status: 400, text: 'The name is not valid' },
  invalid_value: { status: 400, text: 'The value is not valid' },
  invalid_index: { status: 400, text: 'The index is not valid' },
  invalid_input: { status: 400, text: 'The input does not match the declared schema' },
  index_required: { status: 400, text: 'The list is too long for this query without an index' },
  rejected: { status: 400, text: 'The application rejected the value' },
  no_result: { status: 400, text: 'No handler returned a result' },
  unauthorized: { status: 401, text: 'Authentication required' },
  insufficient_user_authentication: { status: 401, text: 'A recent sign-in is required' },
  forbidden: { status: 403, text: 'Not allowed' },
  approval_required: { status: 403, text: 'The owner must approve this call' },
  approval_denied: { status: 403, text: 'The owner denied this call' },
  forged_request: { status: 403, text: 'The request was not sent by a page of this service' },
  not_found: { status: 404, text: 'Not found' },
  actor_not_found: { status: 404, text: 'Actor not found' },
  method_not_allowed: { status: 405, text: 'Method not allowed' },
  conflict: { status: 409, text: 'The change conflicts with the stored state' },
  actor_suspended: { status: 403, text: 'The operator of the service suspended this actor' },
  actor_moved: { status: 308, text: 'The actor has moved to another service' },
  actor_moving: { status: 503, text: 'The actor is moving to another service; try again later' },
  arrival_refused: { status: 409, text: 'The service never takes the actor by this announcement' },
  archive_missing: { status: 409, text: 'The archive of the actor is needed again' },
  not_connected: { status: 409, text: 'The actor is not connected to the third-party service' },
  no_address: { status: 409, text: 'The owner has no verified address' },
  actor_exists: { status: 409, text: 'The address has an actor already' },
  creation_closed: { status: 403, text: 'Actors are created at the first sign-in' },
  creator_exists: { status: 403, text: 'The creator already has an actor' },
  migration_failed: { status: 500, text: 'The stored value cannot be upgraded to the declared version' },
  value_corrupted: { status: 500, text: 'The stored value is damaged' },
  list_corrupted: { status: 409, text: 'The stored list is damaged' },
  gone: { status: 410, text: 'The resource is no longer available' },
  answer_not_kept: { status: 410, text: 'The request already ran, and its response was too large to keep' },
  precondition_failed: { status: 412, text: 'The stored version does not meet the condition of the request' },
  payload_too_large: { status: 413, text: 'The body is too large' },
  uri_too_long: { status: 414, text: 'The URL is too long' },
  range_not_satisfiable: { status: 416, text: 'The file has no bytes in this range' },
  key_reused: { status: 422, text: 'The Idempotency-Key was used for another request' },
  unsupported_media_type: { status: 415, text: 'The content type is not supported' },
  headers_too_large: { status: 431, text: 'The header fields are too large' },
  peer_failed: { status: 408, text: 'The peer did not return a valid response' },
  peer_refused: { status: 403, text: 'The peer refused the call' },
  request_timeout: { status: 408, text: 'The request took too long to arrive' },
  too_many_requests: { status: 429, text: 'Too many requests' },
  server_error: { status: 500, text: 'The service failed' },
  secret_lost: { status: 500, text: 'A stored secret cannot be read, because the service no longer has its key' },
  file_missing: { status: 500, text: 'The content of the file is missing' },
  not_implemented: { status: 501, text: 'The HTTP method is not supported' },
  service_failed: { status: 502, text: 'The third-party service did not return a valid response' },
  provider_failed: { status: 502, text: 'The identity provider did not return a valid response' },
  unknown_kind: { status: 503, text: 'This release of the application does not declare the kind of the actor' },
  newer_data: { status: 503, text: 'A newer release stored the value' },
  store_unavailable: { status: 503, text: 'Storage cannot be used right now' },
  mail_unavailable: { status: 503, text: 'The service sends no mail' },
  unavailable: { status: 503, text: 'The operation is temporarily unavailable' },
  quota_exceeded: { status: 507, text: 'The actor has no room for the change' },
  insufficient_storage: { status: 507, text: 'The storage for files is full' },
  shutting_down: { status: 503, text: 'The service is shutting down' },
} as const satisfies Record<string, { status: number; text: string }>

/** A code of the error catalog, as clients receive it. @public */
export type ErrorCode = keyof typeof catalogue

/** Refusals of acts. `pages/shared/error-text.ts` has the words of each. */
export type ActRefusal =
  | 'app_disconnected'
  | 'approval_ended'
  | 'import_ended'
  | 'key_gone'
  | 'last_manager'
  | 'move_ended'
  | 'rights_changed'
  | 'role_decides'
  | 'session_ended'
  | 'trust_changed'
  | 'trust_ended'

export interface ErrorDetail {
  /** The HTTP status, if not that of the code. */
  readonly status?: number
  /** The cause for the operator. Only the log shows it. */
  readonly reason?: string | undefined
  readonly cause?: unknown
  /** Further members of the JSON error body. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Seconds until a retry can succeed (`Retry-After`). */
  readonly retryAfterSeconds?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Name of the form field that caused the error: the page marks the field. */
  readonly field?: string
  /** Position of an error in the sent JSON, in characters. */
  readonly position?: number
  /** The request needs a value of the browser that began something. Without a cookie, the error page names that cause. */
  readonly needsBrowser?: true
  /** The refusal of an act that pages explain in words of their own. Clients receive the message. */
  readonly refusal?: ActRefusal
  /** The text on pages, from the messages of the reader's language (`pages/languages`). Clients receive the message. */
  readonly onPage?: (messages: never) => string
}

/** An error with a catalogue code and a message for the caller. Only the log shows its reason and cause. @public */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly detail: ErrorDetail

  constructor(code: ErrorCode, message?: string, detail: ErrorDetail = {}) {
    super(message ?? catalogue[code].text, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.code = code
    this.detail = detail
  }

  get status(): number {
    return this.detail.status ?? catalogue[this.code].status
  }
}

/** The errors that an operator must examine. Clients cause all others and must not be able to fill the log. */
const faults: ReadonlySet<ErrorCode> = new Set([
  'server_error',
  'store_unavailable',
  'list_corrupted',
  'value_corrupted',
  'migration_failed',
  'newer_data',
  'file_missing',
  'secret_lost',
  'insufficient_storage',
])

/** Returns true when the log must have the error, because an operator must examine it. */
export function needsOperator(error: unknown): boolean {
  return !(error instanceof ServiceError) || faults.has(error.code)
}

const byStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  410: 'gone',
  412: 'precondition_failed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'too_many_requests',
  500: 'server_error',
  501: 'not_implemented',
  502: 'service_failed',
  503: 'unavailable',
  507: 'quota_exceeded',
}

/** The error code for the status of a response. A status without a code of its own has `bad_request` or `server_error`. */
export function codeOfStatus(status: number): ErrorCode {
  return byStatus[status] ?? (status >= 500 ? 'server_error' : 'bad_request')
}

const temporary: ReadonlySet<ErrorCode> = new Set([
  'store_unavailable',
  'unavailable',
  'shutting_down',
  'actor_suspended',
])

/** Returns true when the same call may succeed later although nothing about the call changes. */
export function isTemporary(error: unknown): boolean {
  return error instanceof ServiceError && temporary.has(error.code)
}

const absences: { readonly [C in ErrorCode]?: 'gone' | 'closed' } = {
  actor_not_found: 'gone',
  actor_moved: 'gone',
  actor_moving: 'closed',
  actor_suspended: 'closed',
  unavailable: 'closed',
}

/**
 * Why work for an actor is refused, so that work for many actors continues with the next one. `gone`: it was deleted, or lives at
 * another service. `closed`: it moves, is suspended, or its content is replaced. Null: for another reason.
 */
export function absenceOf(error: unknown): 'gone' | 'closed' | null {
  return error instanceof ServiceError ? (absences[error.code] ?? null) : null
}

/** Returns true when the actor was deleted, moves, has moved or is suspended. Its background work ends. */
export function isWithoutActor(error: unknown): boolean {
  return absenceOf(error) !== null && !(error instanceof ServiceError && error.code === 'unavailable')
}

/** The error for a call to an actor that moves. The call may be repeated after some seconds. */
export function actorMoving(): ServiceError {
  return new ServiceError('actor_moving', undefined, { retryAfterSeconds: 5 })
}

/** The error for a call to an actor whose content is being replaced. The call may be repeated after some seconds. */
export function actorClosed(): ServiceError {
  return new ServiceError('unavailable', 'The content of the actor is being replaced; try again later', {
    retryAfterSeconds: 5,
  })
}

/** The error for a call to an actor whose kind the running application does not declare. */
export function unknownKind(kind: string): ServiceError {
  return new ServiceError(
    'unknown_kind',
    `Cannot use the actor: this release of the application does not declare its kind ${quoted(kind)}`,
  )
}

const maxQuoted = 120

/** Quotes a string from a request for a message, as JSON, which fits on one line. Cuts it after 120 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text)
}
