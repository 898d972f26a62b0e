/** Waits for a lock of another process without blocking the event loop. */
import { setTimeout as pause } from 'node:timers/promises'
import { isBusy } from './failure.ts'

/** Returns the delay before a retry: short at first, since most locks last one commit, at most 50 ms, half of it random. */
export function busyDelayMs(attempt: number, random: number): number {
  return Math.min(50, 2 ** Math.min(attempt, 10)) * (0.5 + random / 2)
}

/** Repeats `attempt` while the database is busy. Rethrows SQLite's error after `timeoutMs`. */
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
