/** The clock of the database server, which every process of the service shares, told without asking it each time. */

export interface ServerClockDeps {
  /** The server's clock now (Unix milliseconds). */
  readonly ask: () => Promise<number>
  /** Milliseconds that only ever rise, whatever is done to the clock of this machine. */
  readonly monotonic?: () => number
}

/** How long an answer of the server is relied on (milliseconds); machines drift by less than one in that time. */
const reliedOnMs = 5_000

export class ServerClock {
  readonly #ask: () => Promise<number>
  readonly #monotonic: () => number
  /** The server's clock less the monotonic one. */
  #offset = Number.NaN
  #answeredAt = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined

  constructor({ ask, monotonic = () => performance.now() }: ServerClockDeps) {
    this.#ask = ask
    this.#monotonic = monotonic
  }

  /** Unix milliseconds, wrong by less than a round trip to the server. Asks anew, behind the answer, once in a while. */
  readonly now = (): number => {
    const moment = this.#monotonic()
    if (moment - this.#answeredAt > reliedOnMs) this.set().catch(() => {})
    return Math.floor(moment + this.#offset)
  }

  /** Asks the server; before the first time there is no time to tell. While it does not answer, time goes on as before. */
  set(): Promise<void> {
    this.#asking ??= this.#set().finally(() => (this.#asking = undefined))
    return this.#asking
  }

  async #set(): Promise<void> {
    const asked = this.#monotonic()
    const time = await this.#ask()
    this.#answeredAt = this.#monotonic()
    // The server read its clock at some moment between the two, and told whole milliseconds.
    const least = time - this.#answeredAt
    const most = time + 1 - asked
    // An offset that the answer allows is kept, so that time is steady and no slow answer makes it worse.
    if (!(this.#offset >= least && this.#offset <= most)) this.#offset = (least + most) / 2
  }
}
