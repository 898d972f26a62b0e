/** Grant `passphrase`: tokens for the creator's passphrase, in development alone, so that tests need no provider. */
import type { Actors } from '../../actor/actors.ts'
import type { Authentication } from '../../auth/authenticate.ts'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import { deviceOf } from '../../token/device.ts'
import type { Sessions } from '../../token/sessions.ts'
import { requireField } from '../spa-body.ts'
import type { SpaGrant } from './grant.ts'

export interface PassphraseGrantDeps {
  readonly actors: Actors
  readonly authentication: Authentication
  readonly sessions: Sessions
  readonly config: Pick<Config, 'devtest'>
}

export function passphraseGrant(deps: PassphraseGrantDeps): SpaGrant {
  return async ({ request, fields, source }) => {
    if (!deps.config.devtest) {
      throw new ServiceError('forbidden', 'Cannot sign in with a passphrase: that works in development (devtest) only')
    }
    const actorId = requireField(fields, 'actor_id')
    const presented = requireField(fields, 'passphrase')
    const actor = await deps.actors.require(actorId)
    try {
      // The one place that judges passphrases, and counts the wrong ones.
      const credential = { kind: 'basic', user: actor.creator, password: presented } as const
      await deps.authentication.authenticate(credential, actor, source)
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'forbidden')) throw error
      throw new ServiceError('unauthorized', 'Cannot sign in: the passphrase is invalid', {
        headers: { 'WWW-Authenticate': 'Bearer' },
      })
    }
    const tokens = await deps.sessions.begin({
      actorId,
      identifier: actor.creator,
      beganWith: 'passphrase',
      device: deviceOf(request.header('user-agent')),
    })
    return { tokens, members: { token_type: 'Bearer', refresh_token_expires_in: tokens.refreshExpiresIn } }
  }
}
