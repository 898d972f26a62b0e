/** Estimates the clock of the database server, which all processes of the service share, without a request each time. */

export interface ServerClockDeps {
  /** Fetches the server's clock (Unix milliseconds). */
  readonly ask: () => Promise<number>
  /** A monotonic clock in milliseconds, independent of changes to this machine's clock. */
  readonly monotonic?: () => number
}

/** Maximum age of an estimate, in milliseconds. Machines drift by less than one millisecond in that time. */
const reliedOnMs = 5_000

export class ServerClock {
  readonly #ask: () => Promise<number>
  readonly #monotonic: () => number
  /** Difference between the server's clock and the monotonic clock. */
  #offset = Number.NaN
  #answeredAt = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined

  constructor({ ask, monotonic = () => performance.now() }: ServerClockDeps) {
    this.#ask = ask
    this.#monotonic = monotonic
  }

  /** Returns Unix milliseconds with an error below one round trip. Refreshes an old estimate in the background. */
  readonly now = (): number => {
    const moment = this.#monotonic()
    if (moment - this.#answeredAt > reliedOnMs) this.set().catch(() => {})
    return Math.floor(moment + this.#offset)
  }

  /** Fetches the server's time. Call it once before `now`. While the server does not answer, the old estimate continues. */
  set(): Promise<void> {
    this.#asking ??= this.#set().finally(() => (this.#asking = undefined))
    return this.#asking
  }

  async #set(): Promise<void> {
    const asked = this.#monotonic()
    const time = await this.#ask()
    this.#answeredAt = this.#monotonic()
    // The server read its clock between the request and the response, and rounded down to milliseconds.
    const least = time - this.#answeredAt
    const most = time + 1 - asked
    // Keeps an offset that is still consistent, so that time is steady and a slow response cannot worsen the estimate.
    if (!(this.#offset >= least && this.#offset <= most)) this.#offset = (least + most) / 2
  }
}
