/** The one source of waiting, so that a simulation can let hours pass in a moment. */
export interface Timers {
  /** Calls `then` once after the time, unless it is cancelled before. */
  setTimer(ms: number, then: () => void): Cancel
}

export type Cancel = () => void

/** Of the runtime. A waiting timer never keeps the process alive. */
export const systemTimers: Timers = {
  setTimer(ms, then) {
    const timer = setTimeout(then, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
