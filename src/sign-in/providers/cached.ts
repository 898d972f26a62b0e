/** Something that is fetched, kept for a while, and not asked for again and again while it cannot be had. */
export interface RememberedOptions<T> {
  readonly fetch: () => Promise<T>
  readonly keepMs: number
  /** After a failure nothing is asked for so long. */
  readonly failureMs: number
  readonly now: () => number
}

export class Remembered<T> {
  readonly #options: RememberedOptions<T>
  #kept: { readonly value: T; readonly at: number } | undefined
  #failed: { readonly error: unknown; readonly at: number } | undefined
  #running: Promise<T> | undefined

  constructor(options: RememberedOptions<T>) {
    this.#options = options
  }

  /** What is kept, else what a fetch gives; several who wait share one. Fails as the fetch did, for as long as it counts. */
  get(): Promise<T> {
    const { keepMs, now } = this.#options
    if (this.#kept !== undefined && isWithin(this.#kept.at, keepMs, now())) return Promise.resolve(this.#kept.value)
    return this.#fetch()
  }

  /** Asks anew, unless that happened within `leastMs` or failed lately: then null. */
  async renewed(leastMs: number): Promise<T | null> {
    if (
      this.#running === undefined &&
      this.#kept !== undefined &&
      isWithin(this.#kept.at, leastMs, this.#options.now())
    )
      return null
    return this.#fetch().catch(() => null)
  }

  #fetch(): Promise<T> {
    if (this.#running !== undefined) return this.#running
    const { fetch, failureMs, now } = this.#options
    if (this.#failed !== undefined && isWithin(this.#failed.at, failureMs, now())) {
      return Promise.reject(this.#failed.error)
    }
    this.#running = fetch().then(
      (value) => {
        this.#kept = { value, at: now() }
        this.#failed = undefined
        this.#running = undefined
        return value
      },
      (error: unknown) => {
        this.#failed = { error, at: now() }
        this.#running = undefined
        throw error
      },
    )
    return this.#running
  }
}

/** A clock that was set back makes nothing last longer. */
function isWithin(since: number, ms: number, now: number): boolean {
  return now >= since && now - since < ms
}
