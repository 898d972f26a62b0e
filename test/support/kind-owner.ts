/** The owner of an actor that the application created. */
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import type { TestActor, TestService } from './service.ts'
import { asBrowser } from './sessions.ts'

/** Opens pages and sends forms as the browser of an owner without a session, who typed the passphrase. */
export class PassphraseBrowser {
  readonly #service: TestService
  readonly #owner: TestActor

  constructor(service: TestService, owner: TestActor) {
    this.#service = service
    this.#owner = owner
  }

  /** @param path The path below `/<actor>/www`. */
  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send('GET', path, headers)
  }

  send(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', ...headers }
    return this.#send('POST', path, form, new URLSearchParams(fields).toString())
  }

  #send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Response> {
    const { id, authorization } = this.#owner
    return this.#service.request(`/${id}/www${path}`, {
      method,
      headers: { ...asBrowser, authorization, ...headers },
      ...(body === undefined ? {} : { body }),
    })
  }
}

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
