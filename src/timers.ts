/** The only source of timers, so that a simulation can skip hours in an instant. */
export interface Timers {
  /** Calls `then` once after `ms` milliseconds, unless the timer is canceled first. */
  setTimer(ms: number, then: () => void): Cancel
  /**
   * Interval at which workers look for the work of other processes, in milliseconds. Default: the interval of the worker.
   * Infinity: no other process uses the store, and the owner of the timers wakes the workers when work is due.
   */
  readonly pollMs?: number
}

export type Cancel = () => void

/** The timers of Node.js. A pending timer never keeps the process alive. */
export const systemTimers: Timers = {
  setTimer(ms, then) {
    const timer = setTimeout(then, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/**
 * Waits for an answer of the application for at most `ms` milliseconds. The work itself continues.
 *
 * @throws Error with the message `late` when that time ends first.
 */
export async function inTime<T>(timers: Timers, ms: number, ask: () => T | Promise<T>, late: string): Promise<T> {
  const { promise: end, reject } = Promise.withResolvers<never>()
  const cancel = timers.setTimer(ms, () => reject(new Error(late)))
  try {
    return await Promise.race([ask(), end])
  } finally {
    cancel()
  }
}
