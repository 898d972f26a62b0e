/** `urn:ietf:params:oauth:grant-type:device_code` (RFC 8628 section 3.4): the tokens of a device, once the owner agreed. */
import { earliest } from '../../permission/grants.ts'
import { hashSecret } from '../../secret/hash.ts'
import { mayUse } from '../clients.ts'
import { type DeviceData, type DeviceOutcome, deviceSeconds } from '../device/device-codes.ts'
import type { DeviceAgreement } from '../consents.ts'
import { OAuthError } from '../oauth-error.ts'
import { standing } from './authorization-code.ts'
import type { Grant } from './grant.ts'

export const deviceCode: Grant = async (deps, { client, parameters }) => {
  const { store, oneTime, polls, now } = deps
  const value = parameters.get('device_code')
  if (value === undefined) throw new OAuthError('invalid_request', 'device_code is missing')
  const presented = { purpose: 'device_code', value } as const
  const waiting = await store.read((q) => oneTime.peek<DeviceData>(q, presented))
  if (waiting !== null) {
    if (waiting.data.clientId !== client.clientId) throw refused()
    throw polls.isTooSoon(value)
      ? new OAuthError('slow_down', 'Wait five seconds longer between two requests')
      : new OAuthError('authorization_pending', 'The owner has not decided yet')
  }
  const decided = await store.read((q) => oneTime.spent<DeviceOutcome<DeviceAgreement>>(q, presented))
  if (decided === null) throw new OAuthError('expired_token', 'The device code is unknown or has expired')
  const { clientId, agreed } = decided.data
  if (clientId !== client.clientId) throw refused()
  if (agreed === null) throw new OAuthError('access_denied', 'The owner did not authorize the client')
  const { actorId, peerId, identifier, trustType, request } = agreed
  const tokens = await store.writeActor(actorId, async (tx) => {
    const until = Math.floor(now() / 1000) + deviceSeconds
    const fingerprint = `device ${hashSecret(value)}`
    const isFirst = await oneTime.markSeen(tx, { purpose: 'assertion', fingerprint, until })
    const trust = isFirst ? await standing(deps, tx, actorId, agreed) : null
    if (trust === null) throw refused()
    return deps.tokens.startClient(
      tx,
      { actorId, identifier, beganWith: 'mcp', device: client.name },
      { clientId, peerId, audience: request.audience, scope: request.scope },
      earliest(client.until, trust.approvedUntil),
    )
  })
  return {
    tokens,
    scope: request.scope,
    isRefreshable: mayUse(client, 'refresh_token'),
    members: { actor_id: actorId, email: identifier, trust_type: trustType },
  }
}

function refused(): OAuthError {
  return new OAuthError('invalid_grant', 'The device code was used before, or is not for this client')
}
