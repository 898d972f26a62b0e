/** What went wrong with a call, in words that no revision has yet turned into a code. */
export type McpFailureKind =
  | 'unknown_method'
  | 'invalid_params'
  | 'unknown_tool'
  | 'unknown_prompt'
  | 'unknown_resource'
  | 'not_permitted'
  /** The client has not declared what the call needs; `data.requiredCapabilities` names it. */
  | 'missing_capability'
  /** What the caller has to open first (2025-11-25); `data.elicitations` names it. */
  | 'url_elicitation'
  | 'headers_differ'
  | 'internal'

/**
 * Thrown by a handler, it is the answer of the protocol to the whole call: `invalid_params`, `unknown_resource` and
 * `internal` are of use there. A tool that tells the model what went wrong throws a `ServiceError` instead, or answers
 * with `isError`.
 */
export class McpFailure extends Error {
  override readonly name = 'McpFailure'
  readonly kind: McpFailureKind
  readonly data: object | undefined

  /** @param message For the client. @param cause For the log. */
  constructor(kind: McpFailureKind, message: string, data?: object, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
    this.data = data
  }
}
