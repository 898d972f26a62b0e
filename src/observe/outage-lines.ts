/** Limits the log lines of an outage, in which every request fails for the same reason. */
import type { Log } from './log.ts'

/** Time between two lines of an outage, in milliseconds. */
const spacingMs = 1000

interface Outage {
  loggedAt: number
  /** Failures since the last line. */
  more: number
}

const outages = new WeakMap<Log, Outage>()

/**
 * Logs that storage cannot be used, at most once per second. Further failures are counted as `more` in the next line.
 *
 * @param facts Members of the line.
 */
export function logOutage(log: Log, facts: object, message: string): void {
  const now = performance.now()
  const outage = outages.get(log)
  if (outage !== undefined && now - outage.loggedAt < spacingMs) {
    outage.more += 1
    return
  }
  outages.set(log, { loggedAt: now, more: 0 })
  log.error({ ...facts, ...(outage === undefined || outage.more === 0 ? {} : { more: outage.more }) }, message)
}
