import type { Runtime } from '../runtime.ts'
import { History } from './history.ts'

const dayMs = 86_400_000

export function createHistory({ config, registry, store, timers, now, log }: Runtime): History {
  return new History({
    store,
    timers,
    now,
    log,
    isHooked: (actor, name) => registry.of(actor).propertyHooks(name, 'get').length > 0,
    maxAgeMs: config.historyDays * dayMs,
    maxPerActor: config.historyPerActor,
    maxCharacters: config.historySize,
  })
}
