/** OAuth error codes (RFC 6749 section 5.2, RFC 7591 section 3.2.2, RFC 8628 section 3.5, RFC 8707 section 2). */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'server_error'
  | 'temporarily_unavailable'
  | 'authorization_pending'
  | 'slow_down'
  | 'expired_token'

export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: OAuthErrorCode

  /** @param message Shown to the client as `error_description`. */
  constructor(code: OAuthErrorCode, message: string) {
    super(message)
    this.code = code
  }

  /** Value of `WWW-Authenticate`, which every 401 must have (RFC 9110 section 15.5.2). */
  get challenge(): string | undefined {
    return this.code === 'invalid_client' ? 'Basic realm="token", error="invalid_client"' : undefined
  }

  get status(): 400 | 401 | 500 | 503 {
    switch (this.code) {
      case 'invalid_client':
        return 401
      case 'server_error':
        return 500
      case 'temporarily_unavailable':
        return 503
      default:
        return 400
    }
  }
}
