/** Selects the test files that a change can affect, for `npm test -- --changed`. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import type { Executions } from './execution-records.ts'

/** Returns the paths that differ from the parent of `main`, with uncommitted and new files. */
export function changedPaths(root: string): string[] {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter((line) => line !== '')
  return [...new Set([...git('diff', '--name-only', 'main~1'), ...git('ls-files', '--others', '--exclude-standard')])]
}

/** Reads a file of the project by its path, such as `src/list/list-store.ts`; null when it does not exist. */
type Reader = (path: string) => string | null

export function readerOf(root: string): Reader {
  const texts = new Map<string, string | null>()
  const read = (path: string): string | null => {
    try {
      return readFileSync(join(root, path), 'utf8')
    } catch {
      return null
    }
  }
  return (path) => {
    const known = texts.get(path) ?? read(path)
    texts.set(path, known)
    return known
  }
}

const importPattern = /(?:from|import|import\()\s*'(\.[^']+)'/g

/** Returns the files that a file imports, by their paths. */
function importsOf(path: string, read: Reader): string[] {
  const text = read(path) ?? ''
  return [...text.matchAll(importPattern)].map(([, name = '']) => posix.join(dirname(path), name))
}

/** Returns the files that a test file imports without entering `src`, and the files of `src` that these import. */
function reachOf(test: string, read: Reader): { readonly files: Set<string>; readonly sources: Set<string> } {
  const files = new Set([test])
  const sources = new Set<string>()
  for (const file of files)
    for (const imported of importsOf(file, read)) (imported.startsWith('src/') ? sources : files).add(imported)
  return { files, sources }
}

/** A test that reads files by a pattern can depend on any file. */
const readsTree = /\b(?:glob|globSync|readdirSync)\(/

/**
 * Returns the test files that a change can affect.
 *
 * A change of `src` affects the tests that execute the file, by the latest `npm test -- --cover`, and the tests that import
 * it without another file of `src` between them. A file that every service executes says nothing of a test, so the tests of
 * the other files in its folder run instead. Other changes affect the tests that import the file, or name it.
 */
export function affectedTests(
  changed: readonly string[],
  tests: readonly string[],
  executions: Executions,
  read: Reader,
): string[] {
  const executedSources = new Set(Object.values(executions).flat())
  const sources = changed.filter((path) => path.startsWith('src/'))
  const others = changed.filter((path) => !path.startsWith('src/'))
  const isFolderTest = (path: string, executed: readonly string[]): boolean =>
    dirname(path) !== 'src' && executed.some((one) => dirname(one) === dirname(path))
  const isAffected = (test: string): boolean => {
    const reach = reachOf(test, read)
    const executed = executions[test] ?? []
    if (test.startsWith('test/rules/') && readsTree.test(read(test) ?? '')) return changed.length > 0
    if (others.some((path) => reach.files.has(path) || [...reach.files].some((file) => names(read(file) ?? '', path))))
      return true
    return sources.some(
      (path) =>
        reach.sources.has(path) ||
        executed.includes(path) ||
        (!executedSources.has(path) && isFolderTest(path, executed)),
    )
  }
  return tests.filter(isAffected)
}

/** Whether a text names a file that its program reads, by the name of the file and of its folder. */
function names(text: string, path: string): boolean {
  const name = basename(path)
  const folder = basename(dirname(path))
  return (
    new RegExp(String.raw`['"\`/]${RegExp.escape(name)}['"\`]`).test(text) && (folder === '.' || text.includes(folder))
  )
}
