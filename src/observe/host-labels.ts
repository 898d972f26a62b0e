/** Labels for hosts that others chose: the first so many have their own, all others share one. */

export class HostLabels {
  readonly #most: number
  readonly #known = new Set<string>()

  constructor(most: number) {
    this.#most = most
  }

  /** @param isProven Whether somebody we have to do with is there: strangers cannot use the labels up. */
  labelOf(host: string, isProven: boolean): string {
    if (this.#known.has(host)) return host
    if (!isProven || this.#known.size >= this.#most) return 'other'
    this.#known.add(host)
    return host
  }
}
