/** Hooks of modules that test files share. In a process with several files, a module is loaded once, by the first of them. */
import { subscribe } from 'node:diagnostics_channel'

/** The channel to which a process with several test files publishes before it loads each of them. */
const testFileChannel = 'troupe:test-file'

/** Declares hooks for the file that loads the calling module first, and for each later file of the process. */
export function forEachFile(declare: () => void): void {
  declare()
  subscribe(testFileChannel, declare)
}
