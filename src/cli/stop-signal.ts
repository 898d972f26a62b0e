/** The signals that stop a running service. */
import type { EventEmitter } from 'node:events'

const signals = ['SIGINT', 'SIGTERM'] as const

/**
 * Time in which a second signal counts as the same one, in milliseconds. npm, timeout and others forward a signal that the
 * terminal already sent to the whole process group. That second signal must not abort the requests that are finishing.
 */
const sameSignalMs = 1000

/** Resolves at the first Ctrl-C or SIGTERM. A further signal after `sameSignalMs` kills the process, as by default. */
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
