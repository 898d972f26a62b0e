/** Starts the test files that take longest first, so that no long file is left over at the end of a run. */

/** Seconds of each test file, by its name. */
export type Durations = Readonly<Record<string, number>>

/** Returns the names with the longest first. A file without a duration is first, because it may be the longest. */
export function longestFirst(names: readonly string[], durations: Durations): string[] {
  const secondsOf = (name: string): number => durations[name] ?? Infinity
  return names.toSorted((one, other) => {
    const [first, second] = [secondsOf(one), secondsOf(other)]
    return first === second ? one.localeCompare(other) : second - first
  })
}
