/**
 * Joins test files with the code that they share. Each test file runs in its own process, and so do the programs that it
 * starts. A process that loads 800 modules takes four times as long to start as one that loads the same code from few files.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'rolldown'

/** The environment variable with the module that makes a program load joined files. */
const redirection = 'TROUPE_TEST_REDIRECTION'

export interface JoinedFiles {
  /** Returns the joined file of a source file. */
  readonly of: (source: string) => string
  /** Returns the source file of a joined file. */
  readonly sourceOf: (joined: string) => string
  remove(): Promise<void>
}

/**
 * Writes the joined files below `root`, where they find its packages, and lets `sourceArguments` name them.
 *
 * @param sources absolute paths of the TypeScript files that processes start with, or load by their paths.
 */
export async function joinFiles(root: string, sources: readonly string[]): Promise<JoinedFiles> {
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'joined-'))
  const nameOf = (source: string): string => relative(root, source).replace(/\.ts$/, '')
  const joined = new Map(sources.map((source) => [source, join(folder, `${nameOf(source)}.mjs`)]))
  const bySource = new Map([...joined].map(([source, file]) => [file, source]))
  await build({
    cwd: root,
    input: Object.fromEntries(sources.map((source) => [nameOf(source), source])),
    platform: 'node',
    resolve: { conditionNames: ['troupe-source', 'node', 'import'] },
    external: (name) => isPackage(name) && !isAbsolute(name) && !/^(?:troupe|@oxc-project\/runtime)(?:\/|$)/.test(name),
    transform: { target: 'esnext' },
    logLevel: 'warn',
    checks: { ineffectiveDynamicImport: false },
    plugins: [placeOfSource],
    output: {
      dir: folder,
      format: 'esm',
      keepNames: true,
      sourcemap: true,
      entryFileNames: '[name].mjs',
      chunkFileNames: 'shared/[name]-[hash].mjs',
    },
  })
  const redirect = join(folder, 'redirect.mjs')
  await writeFile(redirect, redirectionFrom(joined))
  process.env[redirection] = redirect
  return {
    of: (source) => joined.get(source) ?? source,
    sourceOf: (file) => bySource.get(file) ?? file,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The arguments with which Node.js runs a program of this project from its source, or from the joined files of this test run. */
export function sourceArguments(): string[] {
  const redirect = process.env[redirection]
  const ofJoined = redirect === undefined ? [] : ['--enable-source-maps', `--import=${pathToFileURL(redirect).href}`]
  return ['--conditions=troupe-source', ...ofJoined]
}

const isPackage = (name: string): boolean => /^[\w@]/.test(name)

/** A module that replaces the code of source files by that of their joined files. */
function redirectionFrom(joined: ReadonlyMap<string, string>): string {
  const urls = Object.fromEntries(
    [...joined].map(([source, file]) => [pathToFileURL(source).href, pathToFileURL(file).href]),
  )
  return `import { registerHooks } from 'node:module'
const joined = ${JSON.stringify(urls)}
registerHooks({
  load(url, context, next) {
    const file = JSON.stringify(joined[url])
    if (file === undefined) return next(url, context)
    const source = 'import * as all from ' + file + '; export * from ' + file + '; export default all.default'
    return { format: 'module', source, shortCircuit: true }
  },
})
`
}

/** Keeps the place of each source file, from which it finds files beside it. */
const placeOfSource: Plugin = {
  name: 'place-of-source',
  transform: {
    filter: { id: /\.ts$/, code: /import\.meta\.(?:dirname|filename|url)/ },
    handler: (code, id) => ({
      code: code
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
        .replaceAll('import.meta.filename', JSON.stringify(id))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
      // The lines stay where they are.
      map: null,
    }),
  },
}
