/** Finds the files of the working tree that a test run changes. Tests write to temporary folders. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

/** The content of each file that differs from the last commit, by its path. `null` when the folder has no repository. */
export type WorkingTree = ReadonlyMap<string, string> | null

/** Reads the files of the repository in `root` that differ from the last commit. Ignored files are left out. */
export function workingTree(root: string): WorkingTree {
  try {
    // A copy inside another repository would otherwise return the files of that repository.
    if (realpathSync(git(root, 'rev-parse', '--show-toplevel').trim()) !== realpathSync(root)) return null
  } catch {
    return null
  }
  const status = git(root, 'status', '--porcelain', '-z', '--untracked-files=all', '--no-renames')
  const paths = status.split('\0').flatMap((line) => (line === '' ? [] : [line.slice(3)]))
  return new Map(paths.map((path) => [path, contentOf(join(root, path))]))
}

/** Returns the paths of the files that changed since `before` was read, in alphabetical order. */
export function changedFiles(root: string, before: ReadonlyMap<string, string>): readonly string[] {
  const after = workingTree(root) ?? new Map<string, string>()
  // A file that is no longer different was restored, or committed with the same content.
  const again = [...before].filter(([path, content]) => contentOf(join(root, path)) !== content).map(([path]) => path)
  return [...again, ...[...after.keys()].filter((path) => !before.has(path))].toSorted()
}

function contentOf(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 'none'
  if (found.isSymbolicLink()) return `link ${readlinkSync(path)}`
  // A repository inside this one is one entry.
  if (!found.isFile()) return 'folder'
  return `${found.mode} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`
}

/** Runs Git in the folder, and returns what it prints. */
export function git(root: string, ...args: readonly string[]): string {
  // A Git hook names its own repository in these variables.
  const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...env } = process.env
  return execFileSync('git', ['--no-optional-locks', ...args], {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 26,
  })
}
