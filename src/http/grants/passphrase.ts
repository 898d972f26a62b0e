/** Grant `passphrase`: tokens for the creator's passphrase, in development alone, so that tests need no provider. */
import { ServiceError } from '../../errors.ts'
import { sameSecret } from '../../secret/hash.ts'
import { deviceOf } from '../../token/device.ts'
import { requireField } from '../spa-body.ts'
import type { Grant } from './grant.ts'

export const passphrase: Grant = async ({ parts, request, fields }) => {
  if (!parts.config.devtest) {
    throw new ServiceError('forbidden', 'Cannot sign in with a passphrase: that works in development (devtest) only')
  }
  const actorId = requireField(fields, 'actor_id')
  const presented = requireField(fields, 'passphrase')
  const actor = await parts.actors.require(actorId)
  if (!sameSecret(presented, parts.actors.passphraseOf(actor))) {
    throw new ServiceError('unauthorized', 'Cannot sign in: the passphrase is invalid', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
  const tokens = await parts.sessions.begin({
    actorId,
    identifier: actor.creator,
    beganWith: 'passphrase',
    device: deviceOf(request.header('user-agent')),
  })
  return { tokens, members: { token_type: 'Bearer', refresh_token_expires_in: tokens.refreshExpiresIn } }
}
