/** Cache for one fetched value. It also caches a failure, so that an unreachable server is not asked too often. */
export interface RememberedOptions<T> {
  readonly fetch: () => Promise<T>
  readonly keepMs: number
  /** Time without a fetch after a failure, in milliseconds. */
  readonly failureMs: number
  readonly now: () => number
}

export class Cached<T> {
  readonly #options: RememberedOptions<T>
  #kept: { readonly value: T; readonly at: number } | undefined
  #failed: { readonly error: unknown; readonly at: number } | undefined
  #running: Promise<T> | undefined

  constructor(options: RememberedOptions<T>) {
    this.#options = options
  }

  /** Returns the cached value or fetches it. Concurrent callers share one fetch. A failed fetch rejects for `failureMs`. */
  get(): Promise<T> {
    const { keepMs, now } = this.#options
    if (this.#kept !== undefined && isWithin(this.#kept.at, keepMs, now())) return Promise.resolve(this.#kept.value)
    return this.#fetch()
  }

  /** Fetches again. Null when the value is younger than `leastMs`, or when a fetch fails or failed within `failureMs`. */
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

/** Returns whether less than `ms` passed. False when the clock was set back, so that no value is cached longer. */
function isWithin(since: number, ms: number, now: number): boolean {
  return now >= since && now - since < ms
}
