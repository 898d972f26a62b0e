/** Measures the processor time of a process together with the processes that it started. */
import { readFileSync } from 'node:fs'

/** Linux counts processor time in this many parts of a second. */
const ticksPerSecond = 100

/**
 * Returns the processor time of this process and of its ended child processes, in seconds. Systems other than Linux do not
 * say it of child processes, so that their time is missing there.
 */
export function processorSeconds(): number {
  let text: string
  try {
    text = readFileSync('/proc/self/stat', 'utf8')
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  // The name of the program is in parentheses and may contain spaces. The times are the fields 14 to 17 of proc(5).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / ticksPerSecond
}
