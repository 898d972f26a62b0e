/** `refresh_token` (RFC 6749 section 6): rotates a refresh token by `Tokens.refresh`. */
import { audienceOf, scopeIn } from '../authorization-request.ts'
import { OAuthError } from '../oauth-error.ts'
import type { Grant } from './grant.ts'

export const refreshToken: Grant = async ({ store, tokens, resources }, { client, parameters }) => {
  const presented = parameters.get('refresh_token')
  if (presented === undefined) throw new OAuthError('invalid_request', 'refresh_token is missing')
  // The request is validated before the token is consumed.
  const chain = await store.read((q) => tokens.chainOf(q, presented))
  const grant = chain?.client ?? null
  if (grant === null || grant.clientId !== client.clientId) throw refused()
  const scope = scopeIn(parameters)
  const granted = grant.scope.split(' ')
  if (scope === null || (parameters.has('scope') && scope.split(' ').some((each) => !granted.includes(each)))) {
    throw new OAuthError('invalid_scope', 'The scope exceeds the authorized scope')
  }
  const resource = parameters.get('resource')
  const audience = audienceOf(resource, resources)
  if (audience === null || (resource !== undefined && grant.audience !== '' && audience !== grant.audience)) {
    throw new OAuthError('invalid_target', 'resource differs from the authorized resource')
  }
  const issued = await tokens.refresh(presented, { kind: 'client', clientId: client.clientId })
  if (issued === null) throw refused()
  return { tokens: issued, scope: grant.scope, isRefreshable: true, members: {} }
}

function refused(): OAuthError {
  return new OAuthError('invalid_grant', 'The refresh token is unknown, expired, used, or not for this client')
}
