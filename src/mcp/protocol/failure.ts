/** Kinds of failures. The codec of a revision turns each into a code and a status. */
export type McpFailureKind =
  | 'unknown_method'
  | 'invalid_params'
  | 'unknown_tool'
  | 'unknown_prompt'
  | 'unknown_resource'
  | 'not_permitted'
  /** The client has not declared what the call needs; `data.requiredCapabilities` names it. */
  | 'missing_capability'
  /** The user has to open a URL first (2025-11-25); `data.elicitations` names it. */
  | 'url_elicitation'
  | 'headers_differ'
  | 'internal'

/**
 * An error of the protocol. A handler that throws it fails the whole call; `invalid_params`, `unknown_resource` and
 * `internal` are useful there. A tool that reports an error to the model throws a `ServiceError` instead, or returns
 * `isError`.
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
