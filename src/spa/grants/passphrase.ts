/** Grant `passphrase`: tokens for the creator's passphrase, only in development, so that tests need no provider. */
import type { Actors } from '../../actor/actors.ts'
import type { Authentication } from '../../auth/authenticate.ts'
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import { deviceOf } from '../../token/device.ts'
import type { Sessions } from '../../token/sessions.ts'
import { stringField } from '../../json/fields.ts'
import { type SpaGrant, spaGrant } from './grant.ts'

export interface PassphraseGrantDeps {
  readonly actors: Actors
  readonly authentication: Authentication
  readonly sessions: Sessions
  readonly config: Pick<Config, 'devtest'>
}

const fields = { actor_id: stringField('Id of the actor'), passphrase: stringField('Passphrase of the actor') }

export function passphraseGrant(deps: PassphraseGrantDeps): SpaGrant {
  const grant = spaGrant(fields, async ({ request, source }, { actor_id: actorId, passphrase: presented }) => {
    const actor = await deps.actors.require(actorId)
    try {
      // `authenticate` is the only place that checks passphrases and counts failed attempts.
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
  })
  return {
    fields,
    run: async (request, sent) => {
      if (deps.config.devtest) return grant.run(request, sent)
      throw new ServiceError('forbidden', 'Cannot sign in with a passphrase: only development mode (devtest) allows it')
    },
  }
}
