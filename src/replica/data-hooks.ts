/**
 * Calls the application's handlers for data from peers: after the data is stored, in the order of its sequence numbers,
 * and at most once. An exception in a handler is logged, and the data stays.
 */
import type { ActorHandle } from '../app/actor-handle.ts'
import type { Registry } from '../app/registry.ts'
import type { Timers } from '../timers.ts'
import { type Json, type JsonText, toPlain } from '../json/json.ts'
import { currentContext } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import { isLoop } from '../subscription/hop-limit.ts'
import type { SubscriberSubscription } from './subscriber.ts'
import { subscriberView } from './subscriber.ts'

export interface HookItem {
  readonly type: 'diff' | 'resync' | 'permission'
  readonly sequence: number
  readonly data: JsonText
}

export type CallHooks = (subscription: SubscriberSubscription, items: readonly HookItem[]) => Promise<void>

export interface DataHooksDeps {
  readonly registry: Registry
  readonly log: Log
  readonly timers: Timers
  readonly handleOf: (actorId: string) => Promise<ActorHandle | null>
  /** Calls the application's callbacks with exactly this name. Never rejects. */
  readonly notify: (actor: ActorHandle, name: string, data: { readonly [member: string]: Json }) => Promise<void>
}

/** The application's callback with this name receives the same changes. */
const namedHook = 'subscription'
/** Maximum time that a peer waits for the handlers, which continue in the background. */
const patienceMs = 2000

export class DataHooks {
  readonly #deps: DataHooksDeps
  /** The last run for each subscription, so that handlers receive changes in their order. */
  readonly #last = new Map<string, Promise<void>>()

  constructor(deps: DataHooksDeps) {
    this.#deps = deps
  }

  readonly callHooks: CallHooks = async (subscription, items) => {
    const { registry, timers, log } = this.#deps
    const { actorId, peerId, subscriptionId, target } = subscription
    const isHeard = registry.all.some(
      (each) => each.dataHandlers(target).length > 0 || each.exactCallbacks(namedHook).length > 0,
    )
    if (items.length === 0 || !isHeard) return
    if (isLoop(currentContext()?.hops)) {
      log.warn(
        { target },
        'Cannot call handlers: the change loops between actors that subscribe to each other; its data is stored',
      )
      return
    }
    const key = JSON.stringify([actorId, peerId, subscriptionId])
    const run = (this.#last.get(key) ?? Promise.resolve()).then(() => this.#run(subscription, items))
    this.#last.set(key, run)
    void run.finally(() => {
      if (this.#last.get(key) === run) this.#last.delete(key)
    })
    const { promise: timeUp, resolve } = Promise.withResolvers<void>()
    const cancel = timers.setTimer(patienceMs, resolve)
    await Promise.race([run, timeUp])
    cancel()
  }

  async #run(subscription: SubscriberSubscription, items: readonly HookItem[]): Promise<void> {
    const { registry, log, handleOf, notify } = this.#deps
    const { actorId, peerId, target } = subscription
    try {
      const actor = await handleOf(actorId)
      if (actor === null) return
      for (const { type, sequence, data } of items) {
        for (const handler of registry.of(actor).dataHandlers(target)) {
          try {
            await handler({ actor, peer_id: peerId, target, data: toPlain(data), sequence, callback_type: type })
          } catch (error) {
            log.error({ error, target, sequence }, 'A handler of subscription data threw an error')
          }
        }
        await notify(actor, namedHook, {
          peerid: peerId,
          subscription: { ...subscriberView(subscription), sequence },
          data: toPlain(data),
          sequence,
          type,
          method: 'POST',
        })
      }
    } catch (error) {
      log.error({ error, target }, 'Cannot run the handlers of subscription data')
    }
  }

  /** Resolves when all running handlers have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#last.values())
  }
}
