import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OAuthError, type OAuthErrorCode } from '../../src/authorization-server/oauth-error.ts'

describe('an error of the authorization server', () => {
  const statuses: { readonly [code in OAuthErrorCode]: number } = {
    invalid_request: 400,
    invalid_client: 401,
    invalid_grant: 400,
    unauthorized_client: 400,
    unsupported_grant_type: 400,
    unsupported_response_type: 400,
    invalid_scope: 400,
    invalid_target: 400,
    access_denied: 400,
    invalid_redirect_uri: 400,
    invalid_client_metadata: 400,
    server_error: 500,
    temporarily_unavailable: 503,
    authorization_pending: 400,
    slow_down: 400,
    expired_token: 400,
  }
  for (const [code, status] of Object.entries(statuses)) {
    it(`has status ${status} with code ${code} (R-AS-03, R-AS-04)`, () => {
      assert.equal(new OAuthError(code as OAuthErrorCode, 'why').status, status)
    })
  }

  it('has a challenge only when the client authentication failed', () => {
    assert.equal(new OAuthError('invalid_client', 'why').challenge, 'Basic realm="token", error="invalid_client"')
    assert.equal(new OAuthError('invalid_grant', 'why').challenge, undefined)
  })
})
