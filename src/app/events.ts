/** Fires lifecycle events: every handler runs in order, and one that throws is logged and does not stop the others. */
import type { Log } from '../observe/log.ts'
import type { EventName, Events } from './declarations.ts'
import type { Registry } from './registry.ts'

/** The last answer of a handler that was neither null nor undefined. */
export async function fire<E extends EventName>(
  registry: Registry,
  log: Log,
  event: E,
  args: Events[E],
): Promise<unknown> {
  let answer: unknown = null
  for (const handler of registry.eventHandlers(event)) {
    try {
      answer = (await handler(args)) ?? answer
    } catch (error) {
      log.error({ error, event }, 'An event handler failed')
    }
  }
  return answer
}

/** As `fire`, of an event whose handlers may refuse: false unless each of them said yes, or nothing. One that throws refuses. */
export async function fireForConsent<E extends EventName>(
  registry: Registry,
  log: Log,
  event: E,
  args: Events[E],
): Promise<boolean> {
  let isAllowed = true
  for (const handler of registry.eventHandlers(event)) {
    try {
      const answer = (await handler(args)) ?? true
      if (!answer) isAllowed = false
    } catch (error) {
      log.error({ error, event }, 'An event handler failed, which refuses')
      isAllowed = false
    }
  }
  return isAllowed
}
