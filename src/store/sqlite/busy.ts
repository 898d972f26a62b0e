/** Waits for a lock of another process without holding up this one. */
import { setTimeout as pause } from 'node:timers/promises'
import { isBusy } from './failure.ts'

/** Short at first, since most locks last one commit; never more than 50 ms. Half of it is chance. */
export function busyDelayMs(attempt: number, random: number): number {
  return Math.min(50, 2 ** Math.min(attempt, 10)) * (0.5 + random / 2)
}

/** Repeats `attempt` while the database is busy; after `timeoutMs` the error of SQLite comes out as it is. */
export async function retryBusy<T>(attempt: () => T, timeoutMs: number): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (let count = 0; ; count++) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error
    }
    await pause(busyDelayMs(count, Math.random()))
  }
}
