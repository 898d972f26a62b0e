/** What tells a running service to end. */
import type { EventEmitter } from 'node:events'

const signals = ['SIGINT', 'SIGTERM'] as const

/**
 * npm, timeout and others pass on what the terminal or the system has sent to every process of the group: one Ctrl-C
 * comes twice, and the second one must not cut the requests that the first one lets end.
 */
const sameSignalMs = 1000

/** The first Ctrl-C or SIGTERM. One that comes later than that ends the process at once, as the system does by default. */
export function stopSignal(process: EventEmitter): Promise<void> {
  return new Promise((done) => {
    const release = (): void => {
      for (const signal of signals) process.off(signal, stop)
    }
    let isStopping = false
    const stop = (): void => {
      if (isStopping) return
      isStopping = true
      done()
      setTimeout(release, sameSignalMs).unref()
    }
    for (const signal of signals) process.on(signal, stop)
  })
}
