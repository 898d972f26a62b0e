/** Metric labels for host names that others choose. The number is limited; further hosts share the label `other`. */

export class HostLabels {
  readonly #most: number
  readonly #known = new Set<string>()

  constructor(most: number) {
    this.#most = most
  }

  /** @param isProven Whether a peer with a relationship uses the host; unknown hosts must not use up the labels. */
  labelOf(host: string, isProven: boolean): string {
    if (this.#known.has(host)) return host
    if (!isProven || this.#known.size >= this.#most) return 'other'
    this.#known.add(host)
    return host
  }
}
