/** Acts of an owner about webhooks. */
import { ServiceError } from '../../errors.ts'
import { type Acting, noteIfOwner } from '../../observe/own-acts.ts'
import type { SignInAge } from '../../permission/sign-in-age.ts'
import type { FeatureAct } from '../feature.ts'
import type { NewWebhook, Webhooks } from './webhooks.ts'

/** The acts that `WebhookActs` notes. */
export const webhookOwnActs: readonly FeatureAct[] = [
  { spelling: 'POST /webhooks', sentence: (words) => words.addWebhook },
  { spelling: 'DELETE /webhooks/{webhook}', sentence: (words) => words.removeWebhook },
  { spelling: 'POST /webhooks/{webhook}/secret', sentence: (words) => words.newWebhookSecret },
]

export interface WebhookActsDeps {
  readonly webhooks: Pick<Webhooks, 'add' | 'remove' | 'rotate'>
  readonly signInAge: SignInAge
}

export class WebhookActs {
  readonly #deps: WebhookActsDeps

  constructor(deps: WebhookActsDeps) {
    this.#deps = deps
  }

  /** The secret cannot be read again. @throws ServiceError like `Webhooks.add` */
  async add(by: Acting, webhook: NewWebhook): Promise<{ readonly id: string; readonly secret: string }> {
    this.#deps.signInAge.require(by.caller)
    const added = await this.#deps.webhooks.add(by.actor.id, webhook)
    noteIfOwner(by, 'POST /webhooks')
    return added
  }

  /** @throws ServiceError `not_found` */
  async remove(by: Acting, webhook: string): Promise<void> {
    if (!(await this.#deps.webhooks.remove(by.actor.id, webhook))) throw noWebhook()
    noteIfOwner(by, 'DELETE /webhooks/{webhook}', { webhook })
  }

  /** @returns the new secret. @throws ServiceError `not_found`, and like `Webhooks.rotate` */
  async rotate(by: Acting, webhook: string, wish: Parameters<Webhooks['rotate']>[2]): Promise<string> {
    this.#deps.signInAge.require(by.caller)
    const secret = await this.#deps.webhooks.rotate(by.actor.id, webhook, wish)
    if (secret === null) throw noWebhook()
    noteIfOwner(by, 'POST /webhooks/{webhook}/secret', { webhook })
    return secret
  }
}

export function noWebhook(): ServiceError {
  return new ServiceError('not_found', 'Cannot find the webhook: it does not exist')
}
