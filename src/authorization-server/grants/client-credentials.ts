/** `client_credentials` (RFC 6749 section 4.4): a client acts only for the actor to which it belongs. */
import { earliest } from '../../permission/grants.ts'
import { isApprovedAt } from '../../trust/trust.ts'
import { findTrust } from '../../trust/trust-store.ts'
import { scopeIn } from '../authorization-request.ts'
import { noteClientCame } from '../client-store.ts'
import { ownPeerId } from '../client-trust.ts'
import { idleMs } from '../clients.ts'
import { OAuthError } from '../oauth-error.ts'
import { audienceOf, isOfOtherActor, scopesOf } from '../resources.ts'
import type { Grant } from './grant.ts'

export const clientCredentials: Grant = async (deps, { client, parameters }) => {
  const { clientId, ownerId: actorId } = client
  const audience = audienceOf(parameters.get('resource'), deps)
  if (audience === null) throw new OAuthError('invalid_target', 'resource is not served here')
  if (isOfOtherActor(audience, actorId, deps.baseUrl))
    throw new OAuthError('invalid_target', 'resource is another actor than the one of the client')
  const scope = scopeIn(parameters, scopesOf(audience, deps.baseUrl))
  if (scope === null) throw new OAuthError('invalid_scope', 'The scope is not supported')
  const peerId = ownPeerId(client)
  const tokens = await deps.store.writeActor(actorId, async (tx) => {
    const now = deps.now()
    const isThere = await noteClientCame(tx, clientId, now, now + idleMs)
    const trust = isThere ? await findTrust(tx, actorId, peerId) : null
    // The client must not restore a relationship that the owner ended.
    if (trust === null || !isApprovedAt(trust, now))
      throw new OAuthError('invalid_client', 'The client may no longer act for its actor')
    return deps.tokens.startClient(
      tx,
      { actorId, identifier: clientId, beganWith: 'mcp', device: client.name },
      { clientId, peerId, audience, scope },
      earliest(client.until, trust.approvedUntil),
    )
  })
  return { tokens, scope, isRefreshable: false, members: {} }
}
