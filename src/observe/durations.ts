/**
 * A histogram of durations with three labels, in the Prometheus text format. Every request adds to one, and the histogram of
 * the library `prom-client` hashes the labels each time, which takes six times as long.
 */

/** Upper bounds of the buckets, in seconds. */
export const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Series {
  readonly values: Labels
  readonly labels: string
  /** Number of durations in each bucket, and above the last one. */
  readonly counts: number[]
  sum: number
}

type Labels = readonly [first: string, second: string, third: string]

/** The durations with one set of labels. */
export interface CountedDurations {
  readonly values: Labels
  /** Number of durations in each bucket, and above the last one. */
  readonly counts: readonly number[]
}

export class Durations {
  readonly #name: string
  readonly #help: string
  readonly #labels: Labels
  /** The series in the order of their first duration. */
  readonly #inOrder: Series[] = []
  readonly #series = new Map<string, Map<string, Map<string, Series>>>()

  constructor(name: string, help: string, labels: Labels) {
    this.#name = name
    this.#help = help
    this.#labels = labels
  }

  /** @param values One value for each label, from a bounded set. */
  observe([first, second, third]: Labels, seconds: number): void {
    const series = this.#series.get(first)?.get(second)?.get(third) ?? this.#add(first, second, third)
    let bucket = 0
    while (bucket < durationBuckets.length && seconds > (durationBuckets[bucket] ?? 0)) bucket += 1
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sum += seconds
  }

  /** Returns the durations of each set of labels. */
  counted(): readonly CountedDurations[] {
    return this.#inOrder
  }

  render(): string {
    const lines = [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} histogram`]
    for (const series of this.#inOrder) lines.push(...this.#lines(series))
    return `${lines.join('\n')}\n`
  }

  #lines({ labels, counts, sum }: Series): string[] {
    let total = 0
    const lines = counts.map((count, index) => {
      total += count
      return `${this.#name}_bucket{le="${durationBuckets[index] ?? '+Inf'}",${labels}} ${total}`
    })
    return [...lines, `${this.#name}_sum{${labels}} ${sum}`, `${this.#name}_count{${labels}} ${total}`]
  }

  #add(first: string, second: string, third: string): Series {
    const values: Labels = [first, second, third]
    const labels = this.#labels.map((name, index) => `${name}="${escaped(values[index] ?? '')}"`).join(',')
    const series = { values, labels, counts: Array.from({ length: durationBuckets.length + 1 }, () => 0), sum: 0 }
    const bySecond = this.#series.get(first) ?? new Map<string, Map<string, Series>>()
    const byThird = bySecond.get(second) ?? new Map<string, Series>()
    this.#inOrder.push(series)
    this.#series.set(first, bySecond.set(second, byThird.set(third, series)))
    return series
  }
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

/**
 * Returns the upper bound of the bucket that contains the quantile, in seconds. Null: no durations, or above the last bound.
 *
 * @param quantile From 0 to 1, such as 0.5 for the median.
 */
export function quantileOf(all: readonly CountedDurations[], quantile: number): number | null {
  const sums = durationBuckets.map((_, bucket) => all.reduce((sum, { counts }) => sum + (counts[bucket] ?? 0), 0))
  const total = all.reduce((sum, { counts }) => sum + counts.reduce((a, b) => a + b, 0), 0)
  let seen = 0
  for (const [bucket, sum] of sums.entries()) {
    seen += sum
    if (total > 0 && seen >= total * quantile) return durationBuckets[bucket] ?? null
  }
  return null
}
