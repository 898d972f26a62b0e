/** The order of the test files, and a sample of them. */

/** Seconds of each test file, by its name. */
export type Durations = Readonly<Record<string, number>>

/**
 * Returns the names with the longest first, so that no long file is left over at the end of a run. A file without a
 * duration is first, because it may be the longest.
 */
export function longestFirst(names: readonly string[], durations: Durations): string[] {
  const secondsOf = (name: string): number => durations[name] ?? Infinity
  return names.toSorted((one, other) => {
    const [first, second] = [secondsOf(one), secondsOf(other)]
    return first === second ? one.localeCompare(other) : second - first
  })
}

/** A file of the sample takes at most so many seconds. */
const sampleSeconds = 5

/** Returns about `count` quick files of all kinds, without those that are named. */
export function sampleOf(durations: Durations, count: number, named: readonly string[]): string[] {
  const quick = Object.keys(durations).filter(
    (name) => (durations[name] ?? 0) <= sampleSeconds && !named.includes(name),
  )
  const step = Math.max(1, Math.floor(quick.length / count))
  return quick.toSorted().filter((_, index) => index % step === 0)
}
