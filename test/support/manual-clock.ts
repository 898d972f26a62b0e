/** Advances the clock of services until a condition holds. */
import { setImmediate as turn } from 'node:timers/promises'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { until } from './until.ts'

export { ManualClock }

/**
 * Advances the clock in steps until the condition holds. The services finish background work between two steps, so a
 * slow machine needs no more steps than a fast one.
 */
export async function passUntil(
  clock: ManualClock,
  services: readonly { settled(): Promise<void> }[],
  holds: () => boolean | Promise<boolean>,
  stepMs = 100,
): Promise<void> {
  await until(holds, async () => {
    clock.pass(stepMs)
    await turn()
    for (const service of services) await service.settled()
  })
}
