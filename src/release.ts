/** The release and the commit of this package, and the folder of its code. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** The folder of this code: `src`, or `dist` in a published package, where one file contains many modules. */
export const codeFolder = new URL('./', import.meta.url)

const description: unknown = JSON.parse(readFileSync(new URL('../package.json', codeFolder), 'utf8'))

export const release: string =
  typeof description === 'object' && description !== null && 'version' in description
    ? String(description.version)
    : '0.0.0'

/** A file that the build writes beside the code. */
const commitFile = new URL('commit', codeFolder)
let known: string | undefined

/** The commit of this code, 40 hexadecimal digits. `unknown` for a copy without the history. */
export function commit(): string {
  known ??= existsSync(commitFile) ? readFileSync(commitFile, 'utf8').trim() : checkedOut(new URL('../', codeFolder))
  return known
}

/** The commit that is checked out in a folder. A folder inside of another repository has none of its own. */
export function checkedOut(folder: URL): string {
  if (!existsSync(new URL('.git', folder))) return 'unknown'
  try {
    const { stdout, status } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' })
    return status === 0 ? stdout.trim() : 'unknown'
  } catch {
    // The permissions of the process allow no other programs.
    return 'unknown'
  }
}
