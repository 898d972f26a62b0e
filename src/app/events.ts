/** Fires lifecycle events: handlers run in order. The error of a handler is logged and does not stop the other handlers. */
import type { Log } from '../observe/log.ts'
import type { EventName, Events } from './declarations.ts'
import type { Registry } from './registry.ts'

/** Runs all handlers and returns the last result that is neither null nor undefined. */
export async function fire<E extends EventName>(
  registry: Registry,
  log: Log,
  event: E,
  args: Events[E],
): Promise<unknown> {
  let answer: unknown = null
  for (const handler of declarationsFor(registry, args).eventHandlers(event)) {
    try {
      answer = (await handler(args)) ?? answer
    } catch (error) {
      log.error({ error, event }, 'An event handler failed')
    }
  }
  return answer
}

/** Fires an event that a handler can reject by returning `false` or throwing. Returns whether no handler rejected it. */
export async function fireForConsent<E extends EventName>(
  registry: Registry,
  log: Log,
  event: E,
  args: Events[E],
): Promise<boolean> {
  let isAllowed = true
  for (const handler of declarationsFor(registry, args).eventHandlers(event)) {
    try {
      const answer = (await handler(args)) ?? true
      if (!answer) isAllowed = false
    } catch (error) {
      log.error({ error, event }, 'An event handler threw, so the operation was rejected')
      isAllowed = false
    }
  }
  return isAllowed
}

/** The declarations of the kind of the actor, or of the application for an event without an actor. */
function declarationsFor(registry: Registry, args: Events[EventName]): Registry {
  return 'actor' in args && args.actor !== null ? registry.of(args.actor) : registry
}
