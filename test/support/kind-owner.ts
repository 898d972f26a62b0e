/** The owner of an actor that the application created. */
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import type { TestActor, TestService } from './service.ts'

/** Calls the actor with its passphrase. */
export async function ownerOf(service: TestService, actor: Pick<ActorHandle, 'id' | 'creator'>): Promise<TestActor> {
  const { parts } = await service.app.running()
  const passphrase = parts.actors.passphraseOf(await parts.actors.require(actor.id))
  const authorization = `Basic ${Buffer.from(`${actor.creator}:${passphrase}`).toString('base64')}`
  return {
    id: actor.id,
    creator: actor.creator,
    passphrase,
    authorization,
    request: (method, path, body, headers = {}) =>
      service.request(`/${actor.id}${path}`, {
        method,
        headers: { authorization, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  }
}
