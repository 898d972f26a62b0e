/** `refresh_token` (RFC 6749 section 6): rotates a refresh token by `Tokens.refresh`. */
import { earliest } from '../../permission/grants.ts'
import type { Chain, ClientGrant } from '../../token/chain.ts'
import type { Store } from '../../store/store.ts'
import { isApprovedAt, type Trust } from '../../trust/trust.ts'
import { findTrust } from '../../trust/trust-store.ts'
import { scopeIn } from '../authorization-request.ts'
import { OAuthError } from '../oauth-error.ts'
import { audienceOf, currentResource, isOfOtherActor, scopes } from '../resources.ts'
import type { Grant } from './grant.ts'

export const refreshToken: Grant = async (deps, { client, parameters }) => {
  const { store, tokens, baseUrl, now } = deps
  const presented = parameters.get('refresh_token')
  if (presented === undefined) throw new OAuthError('invalid_request', 'refresh_token is missing')
  // The request is validated before the token is consumed.
  const chain = await store.read((q) => tokens.chainOf(q, presented))
  const grant = grantFor(client.clientId, chain)
  const trust = await standing(store, grant, now())
  if (trust === null) throw refused()
  const granted = grant.scope.split(' ')
  const asked = (parameters.get('scope') ?? '').split(' ')
  const isWider = scopes.some((each) => asked.includes(each) && !granted.includes(each))
  if (isWider || scopeIn(parameters, granted) === null) {
    throw new OAuthError('invalid_scope', 'The scope exceeds the authorized scope')
  }
  const resource = parameters.get('resource')
  const audience = audienceOf(resource, deps)
  const isOther = resource !== undefined && grant.audience !== '' && audience !== currentResource(grant.audience, deps)
  if (audience === null || isOther || isOfOtherActor(audience, grant.actorId, baseUrl)) {
    throw new OAuthError('invalid_target', 'resource differs from the authorized resource')
  }
  const until = earliest(client.until, trust.approvedUntil)
  const issued = await tokens.refresh(presented, { kind: 'client', clientId: client.clientId }, until)
  if (issued === null) throw refused()
  return { tokens: issued, scope: grant.scope, isRefreshable: true, members: {} }
}

/** The grant of a client's chain. @throws OAuthError when the chain is not a chain of the client. */
function grantFor(clientId: string, chain: Chain | null): ClientGrant & Pick<Chain, 'actorId'> {
  const grant = chain?.client ?? null
  if (chain === null || grant?.clientId !== clientId) throw refused()
  return { ...grant, actorId: chain.actorId }
}

/** The relationship. Null after the end of the approval, with which the tokens of a client end. A paused client keeps them. */
async function standing(
  store: Store,
  { actorId, peerId }: { readonly actorId: string; readonly peerId: string },
  now: number,
): Promise<Trust | null> {
  const trust = await store.read((q) => findTrust(q, actorId, peerId))
  return trust !== null && (!trust.approved || isApprovedAt(trust, now)) ? trust : null
}

function refused(): OAuthError {
  return new OAuthError('invalid_grant', 'The refresh token is unknown, expired, used, or not for this client')
}
