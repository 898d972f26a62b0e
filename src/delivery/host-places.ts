/**
 * The calls to one host: as many at once as there are connections to it. Who has no place yet has read nothing, and is
 * not taken for a failure: a host with thousands of peers has a line before it, and is none the worse for that.
 */
import type { Cancel, Timers } from './timers.ts'

export type Leave = () => void

interface Waiter {
  readonly enter: (leave: Leave | null) => void
  readonly cancel: Cancel
}

interface Host {
  running: number
  readonly waiting: Set<Waiter>
}

export class HostPlaces {
  readonly #timers: Timers
  readonly #perHost: number
  readonly #patienceMs: number
  readonly #hosts = new Map<string, Host>()
  #isClosed = false

  constructor(timers: Timers, { perHost, patienceMs }: { readonly perHost: number; readonly patienceMs: number }) {
    this.#timers = timers
    this.#perHost = perHost
    this.#patienceMs = patienceMs
  }

  /** In the order in which they came; null for whom there is no place in time. */
  async enter(name: string): Promise<Leave | null> {
    if (this.#isClosed) return null
    const host = this.#hosts.get(name) ?? { running: 0, waiting: new Set<Waiter>() }
    this.#hosts.set(name, host)
    if (host.running < this.#perHost) return this.#begin(name, host)
    return new Promise((resolve) => {
      const waiter = {
        enter: resolve,
        cancel: this.#timers.setTimer(this.#patienceMs, () => {
          host.waiting.delete(waiter)
          resolve(null)
        }),
      }
      host.waiting.add(waiter)
    })
  }

  /** Nobody waits, or enters, any more. */
  close(): void {
    this.#isClosed = true
    for (const { waiting } of this.#hosts.values()) {
      for (const { enter, cancel } of waiting) {
        cancel()
        enter(null)
      }
      waiting.clear()
    }
  }

  #begin(name: string, host: Host): Leave {
    host.running += 1
    return () => {
      host.running -= 1
      const [next] = host.waiting
      if (next === undefined) {
        if (host.running === 0) this.#hosts.delete(name)
        return
      }
      host.waiting.delete(next)
      next.cancel()
      next.enter(this.#begin(name, host))
    }
  }
}
