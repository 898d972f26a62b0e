/** A worker that deletes what is too old, once an hour. */
import type { Log } from '../observe/log.ts'
import { Poller } from '../due/poller.ts'
import type { Timers } from '../timers.ts'

const hourMs = 3_600_000

export class Cleaning {
  readonly #poller: Poller
  #isScheduled = false

  /** @param what Names what `clean` deletes, for the log. */
  constructor(
    { timers, log }: { readonly timers: Timers; readonly log: Pick<Log, 'warn'> },
    what: string,
    clean: () => Promise<void>,
  ) {
    this.#poller = new Poller(timers, async () => {
      try {
        await clean()
      } catch (error) {
        log.warn({ error }, `Cannot delete ${what}; the service tries again in an hour`)
      }
      return hourMs
    })
  }

  wake(): void {
    if (!this.#isScheduled) this.#poller.schedule(hourMs)
    this.#isScheduled = true
  }

  async settled(): Promise<void> {
    await this.#poller.looking
  }

  nextDue(): Promise<null> {
    return Promise.resolve(null)
  }

  stop(): Promise<void> {
    return this.#poller.stop()
  }
}
