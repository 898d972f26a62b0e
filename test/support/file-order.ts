/**
 * Starts the test files that take longest first, so that no long file is left over at the end of a run. Other files share
 * processes, because each process loads and compiles the code of the service.
 */

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

/** A process with more files or seconds would use much memory, and delay the end of a run. */
const mostFiles = 16
const mostSeconds = 100
/** The start of a process counts little beside a longer file. */
const longSeconds = 30

/** Returns the files of each process. Files without a duration, and those that share no process, have one of their own. */
export function inProcesses(
  names: readonly string[],
  durations: Durations,
  isShared: (name: string) => boolean,
): string[][] {
  const processes: string[][] = []
  let [files, seconds]: [string[], number] = [[], 0]
  for (const name of longestFirst(names, durations)) {
    const own = durations[name] ?? Infinity
    if (own > longSeconds || !isShared(name)) {
      processes.push([name])
      continue
    }
    if (files.length === 0 || files.length === mostFiles || seconds + own > mostSeconds) {
      ;[files, seconds] = [[], 0]
      processes.push(files)
    }
    files.push(name)
    seconds += own
  }
  return processes.toSorted((one, other) => totalOf(other, durations) - totalOf(one, durations))
}

function totalOf(names: readonly string[], durations: Durations): number {
  // A difference of two infinite values is not a number.
  return names.reduce((sum, name) => sum + (durations[name] ?? 1e6), 0)
}
