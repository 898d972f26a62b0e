/** Grant `passphrase`: tokens for the creator's passphrase, in development alone, so that tests need no provider. */
import { ServiceError } from '../../errors.ts'
import { deviceOf } from '../../token/device.ts'
import { requireField } from '../spa-body.ts'
import type { Grant } from './grant.ts'

export const passphrase: Grant = async ({ parts, request, fields, source }) => {
  if (!parts.config.devtest) {
    throw new ServiceError('forbidden', 'Cannot sign in with a passphrase: that works in development (devtest) only')
  }
  const actorId = requireField(fields, 'actor_id')
  const presented = requireField(fields, 'passphrase')
  const actor = await parts.actors.require(actorId)
  try {
    // The one place that judges passphrases, and counts the wrong ones.
    const credential = { kind: 'basic', user: actor.creator, password: presented } as const
    await parts.authentication.authenticate(credential, actor, source)
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'forbidden')) throw error
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
