/** `client_credentials` (RFC 6749 section 4.4): a client acts for the actor that it belongs to, and for nobody else. */
import { audienceOf, parseScope } from '../authorization-request.ts'
import { isPublic } from '../client.ts'
import { noteClientUsed } from '../client-store.ts'
import { ensureClientTrust } from '../client-trust.ts'
import { OAuthError } from '../oauth-error.ts'
import type { Grant } from './grant.ts'

export const clientCredentials: Grant = async (parts, { client, parameters }) => {
  if (isPublic(client)) throw new OAuthError('unauthorized_client', 'A public client cannot act for itself')
  const scope = parseScope(parameters.get('scope'))
  if (scope === null) throw new OAuthError('invalid_scope', 'The scope is none that is served')
  const audience = audienceOf(parameters.get('resource'), parts.resources)
  if (audience === null) throw new OAuthError('invalid_target', 'resource is not served here')
  const now = parts.now()
  const tokens = await parts.store.writeActor(client.ownerId, async (tx) => {
    const identifier = client.clientId
    const peerId = await ensureClientTrust(tx, parts.keyRing, client, {
      actorId: client.ownerId,
      identifier,
      relationship: client.trustType,
      now,
    })
    await noteClientUsed(tx, client.clientId, now)
    return parts.tokens.startClient(
      tx,
      { actorId: client.ownerId, identifier, beganWith: 'mcp', device: client.name },
      { clientId: client.clientId, peerId, audience, scope },
    )
  })
  return { tokens, scope, isRefreshable: false, members: {} }
}
