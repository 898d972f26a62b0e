/** Kinds of failures. The codec of a revision maps each to a code and a status. */
export type McpFailureKind =
  | 'unknown_method'
  | 'invalid_params'
  | 'unknown_tool'
  | 'unknown_prompt'
  | 'unknown_resource'
  | 'not_permitted'
  /** The client did not declare a capability that the call needs; `data.requiredCapabilities` lists it. */
  | 'missing_capability'
  /** The user must open a URL first (2025-11-25); `data.elicitations` contains it. */
  | 'url_elicitation'
  | 'headers_differ'
  /** The operation of the application failed; the client receives the text and `data.error`, the code. */
  | 'failed'
  | 'internal'

/**
 * An error of the protocol. It fails the call of a handler that throws it; `invalid_params`, `unknown_resource` and
 * `internal` are useful for handlers. To report an error to the model, a tool throws a `ServiceError` or returns
 * `isError`.
 *
 * @public
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
