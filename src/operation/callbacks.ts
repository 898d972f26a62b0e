/** Runs the callbacks that the application declared. */
import type { ActorHandle } from '../app/actor-handle.ts'
import type { SubscriptionCall } from '../app/declarations.ts'
import { handlerResult } from '../app/handler-result.ts'
import type { Registry } from '../app/registry.ts'
import type { Caller } from '../caller.ts'
import { quoted, ServiceError } from '../errors.ts'
import { isObject, type Json, type JsonText, known } from '../json/json.ts'
import type { Log } from '../observe/log.ts'
import type { Access } from '../property/access.ts'

export interface CallbacksDeps {
  readonly registry: Registry
  readonly log: Log
  readonly handleOf: (actor: Access['actor']) => ActorHandle
}

export type CallbackData = { readonly [member: string]: Json }

export class Callbacks {
  readonly #deps: CallbacksDeps

  constructor(deps: CallbacksDeps) {
    this.#deps = deps
  }

  /** True when anonymous callers may call it. Only the exact name counts: `*` also covers unintended names. */
  isPublic({ actor }: Pick<Access, 'actor'>, name: string): boolean {
    return this.#deps.registry
      .of(actor)
      .exactCallbacks(name)
      .some(({ isPublic }) => isPublic)
  }

  /**
   * The first truthy result of a handler: an object, or `true` for any other value. `false` without one.
   *
   * @throws ServiceError `not_found` when the callback is not declared.
   */
  async call({ actor, caller }: Access, name: string, data: CallbackData): Promise<JsonText> {
    const declared = this.#deps.registry.of(actor).callbacks(name)
    const open = caller.kind === 'anonymous' ? declared.filter(({ isPublic }) => isPublic) : declared
    if (open.length === 0) throw noCallback(name)
    const handle = this.#deps.handleOf(actor)
    for (const { handler } of open) {
      const result = await handler({ actor: handle, caller, name, data })
      if (result) return answerOf(result)
    }
    return known('false')
  }

  /** Like `call`, for callbacks of the service instead of an actor. */
  async callApp(name: string, data: CallbackData): Promise<JsonText> {
    const handlers = this.#deps.registry.appCallbacks(name)
    if (handlers.length === 0) throw noCallback(name)
    for (const handler of handlers) {
      const result = await handler({ name, data })
      if (result) return answerOf(result)
    }
    return known('false')
  }

  /** Like `notify`, but creates the actor handle only when a handler is declared. */
  async notifyActor({ actor, caller }: Access, name: string, data: CallbackData): Promise<void> {
    if (this.#deps.registry.of(actor).exactCallbacks(name).length > 0) {
      await this.notify(this.#deps.handleOf(actor), caller, name, data)
    }
  }

  /** Notifies the handlers of exactly this name after the service has acted. An error of a handler is only logged. */
  async notify(handle: ActorHandle, caller: Caller, name: string, data: CallbackData): Promise<void> {
    for (const { handler } of this.#deps.registry.of(handle).exactCallbacks(name)) {
      try {
        await handler({ actor: handle, caller, name, data })
      } catch (error) {
        this.#deps.log.error({ error, callback: name }, 'A callback handler failed')
      }
    }
  }

  /**
   * Passes a peer's callback to the application unchanged.
   *
   * @returns false when no handler is declared, or a handler rejects the callback.
   */
  async raw(
    actor: Access['actor'],
    caller: Caller,
    { subscription, peer_id, data }: Omit<SubscriptionCall, 'actor'>,
  ): Promise<boolean> {
    const { handleOf } = this.#deps
    const registry = this.#deps.registry.of(actor)
    const handle = handleOf(actor)
    let isTaken = false
    for (const handler of registry.subscriptionHandlers) {
      if ((await handler({ actor: handle, subscription, peer_id, data })) === false) return false
      isTaken = true
    }
    const named = { ...data, subscription: { ...subscription }, peerid: peer_id, method: 'POST' }
    for (const { handler } of registry.exactCallbacks('subscription')) {
      if (!(await handler({ actor: handle, caller, name: 'subscription', data: named }))) return false
      isTaken = true
    }
    return isTaken
  }
}

function answerOf(result: unknown): JsonText {
  const text = handlerResult(result)
  return isObject(text) ? text : known('true')
}

function noCallback(name: string): ServiceError {
  return new ServiceError('not_found', `The callback ${quoted(name)} does not exist`)
}
