/** The only source of timers, so that a simulation can skip hours in an instant. */
export interface Timers {
  /** Calls `then` once after `ms` milliseconds, unless the timer is canceled first. */
  setTimer(ms: number, then: () => void): Cancel
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
