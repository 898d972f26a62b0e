/** How long the hosts of peers take to answer this process. */

export interface SlowHost {
  readonly host: string
  /** Mean duration of its calls, in seconds. The last ones count most. */
  readonly seconds: number
  readonly calls: number
}

/** A host with a longer mean is slow, in seconds. */
const slowAfter = 1
/** The share of the newest call in the mean, from the 15th call on. Before, all calls count the same. */
const newestShare = 0.07

export class PeerDurations {
  readonly #hosts = new Map<string, { seconds: number; calls: number }>()

  /** @param host A label of `HostLabels`, so that the number of hosts is limited. */
  record(host: string, seconds: number): void {
    const known = this.#hosts.get(host) ?? { seconds: 0, calls: 0 }
    known.calls += 1
    known.seconds += (seconds - known.seconds) * Math.max(newestShare, 1 / known.calls)
    this.#hosts.set(host, known)
  }

  /** Returns up to `most` hosts whose calls take more than a second, the slowest first. */
  slowest(most: number): readonly SlowHost[] {
    return [...this.#hosts]
      .map(([host, known]) => ({ host, ...known }))
      .filter(({ seconds }) => seconds > slowAfter)
      .toSorted((a, b) => b.seconds - a.seconds)
      .slice(0, most)
  }
}
