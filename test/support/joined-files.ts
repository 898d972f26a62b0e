/**
 * Joins test files with the code that they share. Several processes run the test files, and each program that a file starts
 * has its own. A process that loads 800 modules takes four times as long to start as one that loads the same code from few files.
 *
 * A joined process does what a process of the sources does, with three exceptions. It loads the packages that are not joined
 * first, before any module of the project runs. The stack of an error ends with the functions that run joined modules. Above
 * the stack of an uncaught error, Node.js shows the line of the joined file.
 */
import { realpathSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import { isAbsolute, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { build, type OutputChunk, type Plugin, RolldownMagicString } from 'rolldown'
import { parseSync, Visitor } from 'rolldown/utils'

/** The environment variable with the module that makes a program load joined files. */
const redirection = 'TROUPE_TEST_REDIRECTION'

export interface JoinedFiles {
  remove(): Promise<void>
}

interface JoinOptions {
  /** A module that all sources need, besides those of `isSmall`: what it imports becomes one file. */
  readonly core?: string
  /** Whether a source needs so little of the core that it shares no file with the others. */
  readonly isSmall?: (source: string) => boolean
  /** Packages that become part of the joined files, with the packages that they need. */
  readonly packages?: readonly string[]
}

/**
 * Writes the joined files below `root`, where they find its packages, and lets `sourceArguments` name them.
 *
 * @param sources absolute paths of the TypeScript files that processes start with, or load by their paths.
 */
export async function joinFiles(
  root: string,
  sources: readonly string[],
  { core, isSmall = () => false, packages = [] }: JoinOptions = {},
): Promise<JoinedFiles> {
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  // Node.js knows modules by their real paths.
  const folder = await mkdtemp(join(realpathSync(cache), 'joined-'))
  const redirect = join(folder, 'redirect.mjs')
  const { small = [], large = [] } = Object.groupBy(sources, (source) => (isSmall(source) ? 'small' : 'large'))
  const chunks = (
    await Promise.all([
      joinTogether({ root, folder, redirect, sources: small, shared: 'shared-small', packages }),
      joinTogether({ root, folder, redirect, sources: large, shared: 'shared', core, packages }),
    ])
  ).flat()
  await writeFile(redirect, redirectionFrom(folder, chunks))
  for (const { fileName, map } of chunks)
    if (map !== null) await writeFile(join(folder, `${fileName}.places`), placesOf(map))
  const before = process.env[redirection]
  process.env[redirection] = redirect
  return {
    remove: async () => {
      if (before === undefined) delete process.env[redirection]
      else process.env[redirection] = before
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Returns the places of a source map, so that a process reads the places of one line: the number of lines and of places, the
 * index of the first place of each line, the places with five numbers each, and the names of the sources as JSON.
 */
function placesOf({ mappings, sources }: { readonly mappings: string; readonly sources: readonly string[] }): Buffer {
  const lines = mappings.split(';')
  const starts: number[] = []
  const places: number[] = []
  let [source, sourceLine, sourceColumn] = [0, 0, 0]
  for (const [line, segments] of lines.entries()) {
    starts.push(places.length / placeSize)
    let column = 0
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [columns = 0, ...origin] = decoded(segment)
      column += columns
      const [bySource = 0, byLine = 0, byColumn = 0] = origin
      source += bySource
      sourceLine += byLine
      sourceColumn += byColumn
      places.push(line, column, origin.length === 0 ? -1 : source, sourceLine, sourceColumn)
    }
  }
  const count = places.length / placeSize
  const numbers = Int32Array.from([lines.length, count, ...starts, count, count])
  return Buffer.concat([asBytes(numbers), asBytes(Int32Array.from(places)), Buffer.from(JSON.stringify(sources))])
}

const placeSize = 5

function asBytes({ buffer, byteOffset, byteLength }: Int32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Returns the numbers of a segment of a source map (ECMA-426, Base64 VLQ). */
function decoded(segment: string): number[] {
  const numbers: number[] = []
  let [value, shift] = [0, 0]
  for (const digit of segment) {
    const bits = digits.indexOf(digit)
    value |= (bits & 31) << shift
    shift += 5
    if (bits >= 32) continue
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1)
    ;[value, shift] = [0, 0]
  }
  return numbers
}

interface Joining {
  readonly root: string
  readonly folder: string
  readonly redirect: string
  readonly sources: readonly string[]
  /** The folder of the files that several sources share. */
  readonly shared: string
  readonly core?: string | undefined
  readonly packages: readonly string[]
}

/** Writes the joined files of sources that share files. */
async function joinTogether(joining: Joining): Promise<OutputChunk[]> {
  const { root, folder, redirect, sources, shared, core, packages } = joining
  if (sources.length === 0) return []
  const nameOf = (source: string): string => relative(root, source).replace(/\.ts$/, '')
  const circles: string[] = []
  const imports = new Map<string, readonly string[]>()
  let ofCore: Set<string> | undefined
  const isOfCore = (id: string): boolean => core !== undefined && (ofCore ??= closureOf(core, imports)).has(id)
  const { output } = await build({
    cwd: root,
    input: Object.fromEntries(sources.map((source) => [nameOf(source), source])),
    platform: 'node',
    tsconfig: false,
    // Besides these, imports have the condition `import`, and calls of require have `require`.
    resolve: { conditionNames: ['troupe-source', 'node'] },
    external: (name, importer) => isPackage(name) && !isAbsolute(name) && !isJoined(name, importer, packages),
    // Node.js runs each imported module, also when the program uses none of its values.
    transform: { target: 'esnext', typescript: { onlyRemoveTypeImports: true } },
    treeshake: false,
    optimization: { inlineConst: false },
    logLevel: 'warn',
    checks: { ineffectiveDynamicImport: false, circularDependency: true },
    onLog: (level, log, print) => {
      if (log.code !== 'CIRCULAR_DEPENDENCY') print(level, log)
      // A package that works does not read a value too early.
      else if (log.ids?.every(isOfPackage) !== true) circles.push(stripVTControlCharacters(log.message).trim())
    },
    plugins: [
      requireOfPackages(),
      placeOfSource(pathToFileURL(redirect).href),
      { name: 'static-imports', moduleParsed: (module) => void imports.set(module.id, module.importedIds) },
    ],
    output: {
      dir: folder,
      format: 'esm',
      keepNames: true,
      polyfillRequire: false,
      strictExecutionOrder: true,
      sourcemap: true,
      entryFileNames: '[name].mjs',
      chunkFileNames: `${shared}/[name]-[hash].mjs`,
      // A process takes half of its start to find and link 200 shared files.
      codeSplitting: { groups: core === undefined ? [] : [{ name: 'core', test: isOfCore }] },
    },
  })
  // In a circle, a joined module reads `undefined` where Node.js throws a ReferenceError.
  if (circles.length > 0) throw new Error(`Cannot join the files: ${circles.join('\n')}`)
  const chunks = output.filter((file) => file.type === 'chunk')
  for (const { code, fileName } of chunks) refuseWaitingImports(code, fileName)
  return chunks
}

/** Returns the modules that a module loads with its start, without those that it imports on demand. */
function closureOf(start: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const closure = new Set([start])
  for (const id of closure) for (const imported of imports.get(id) ?? []) closure.add(imported)
  return closure
}

/** While an imported module waits at its top level, Node.js runs the next one. Joined modules run one after the other. */
function refuseWaitingImports(code: string, fileName: string): void {
  const [, name] = /^\s+await init_(\w+)\(\)/m.exec(code) ?? []
  if (name !== undefined)
    throw new Error(`Cannot join the files: ${name}, imported in ${fileName}, awaits at its top level.`)
}

/** The arguments with which Node.js loads the sources of this project, or the joined files of this test run. */
export function loadingArguments(): string[] {
  const redirect = process.env[redirection]
  const ofJoined = redirect === undefined ? [] : [`--import=${pathToFileURL(redirect).href}`]
  return ['--conditions=troupe-source', ...ofJoined]
}

/** The arguments with which Node.js runs a program of this project. In a test run, it also records its statements. */
export function sourceArguments(): string[] {
  const isRecording = (process.env['STATEMENT_RECORDS'] ?? '') !== ''
  const recorder = new URL('statement-recorder.ts', import.meta.url).href
  return [...loadingArguments(), ...(isRecording ? [`--import=${recorder}`] : [])]
}

const always = ['@opentelemetry/api', 'troupe', '@oxc-project/runtime']
const sourceFile = /\.[cm]?[jt]sx?$/
const isPackage = (name: string): boolean => /^[\w@]/.test(name)
const isOfPackage = (id: string): boolean => /[/\\]node_modules[/\\]/.test(id)

function isJoined(name: string, importer: string | undefined, packages: readonly string[]): boolean {
  if (importer !== undefined && isOfPackage(importer)) return !isBuiltin(name) && isInstalled(name, importer)
  return [...always, ...packages].some((own) => name === own || name.startsWith(`${own}/`))
}

/** Packages try to load others, such as pg-native, that are not installed. */
function isInstalled(name: string, importer: string): boolean {
  try {
    createRequire(importer).resolve(name)
    return true
  } catch {
    return false
  }
}

/** The beginning of a specifier that is resolved from a source file: `joined-from:<URL of the file>|<specifier>`. */
const fromSource = 'joined-from:'

/**
 * The module that every process of joined files loads first. It replaces the code of source files by that of their joined
 * files, and gives joined code the `import.meta` of its source file.
 */
function redirectionFrom(folder: string, chunks: readonly OutputChunk[]): string {
  const urlOf = (path: string): string => pathToFileURL(path).href
  const entries = chunks.flatMap(({ fileName, facadeModuleId, isEntry, exports }) =>
    isEntry && facadeModuleId !== null
      ? [[urlOf(facadeModuleId), { file: urlOf(join(folder, fileName)), hasDefault: exports.includes('default') }]]
      : [],
  )
  const contents = chunks.map(({ fileName, moduleIds }) => [
    urlOf(join(folder, fileName)),
    // A package that is not joined may need one that is, and gets its own copy.
    moduleIds.filter((id) => isAbsolute(id) && sourceFile.test(id) && !isOfPackage(id)).map(urlOf),
  ])
  return `import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
const entries = new Map(${JSON.stringify(entries)})
const contents = new Map(${JSON.stringify(contents)})
const joinable = new Set([...contents.values()].flat())
const copies = new Map()
let started
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('${fromSource}')) {
      const [, parentURL, wanted] = /^${fromSource}([^|]*)\\|(.*)$/s.exec(specifier)
      return next(wanted, { ...context, parentURL })
    }
    const resolved = next(specifier, context)
    // No module imports the file with which a process or worker starts.
    if (context.parentURL === undefined) started ??= resolved.url
    return resolved
  },
  load(url, context, next) {
    const entry = entries.get(url)
    if (entry !== undefined) {
      const file = JSON.stringify(entry.file)
      const source = 'export * from ' + file + (entry.hasDefault ? '; export { default } from ' + file : '')
      return { format: 'module', source, shortCircuit: true }
    }
    if (joinable.has(url)) only(url, url)
    for (const source of contents.get(url) ?? []) only(source, url)
    return next(url, context)
  },
})

/** A module that exists twice has two classes of each error, and two of each registry. */
function only(source, copy) {
  const other = copies.get(source) ?? copy
  if (other !== copy)
    throw new Error(source + ' would exist twice in this process. Name it among the files that test/run.ts joins.')
  copies.set(source, copy)
}

/** Changes the places of a stack to those of the sources when a program reads it. */
const origins = new Map()
Error.prepareStackTrace = (error, sites) => {
  let head
  try {
    head = Error.prototype.toString.call(error)
  } catch {
    head = 'Error'
  }
  // The hooks of this module are between an import and the module that it loads.
  const own = sites.filter((site) => site.getFileName() !== import.meta.url)
  return [head, ...own.map((site) => '    at ' + withSourcePlace(site))].join('\\n')
}

function withSourcePlace(site) {
  const text = String(site)
  const url = site.getFileName()
  if (!contents.has(url)) return text
  const line = site.getLineNumber()
  const column = site.getColumnNumber()
  const place = url + ':' + line + ':' + column
  let origin = origins.get(place)
  if (origin === undefined) {
    origin = originOf(url, line, column)
    origins.set(place, origin)
  }
  return text.replace(place, () => origin)
}

/** Reads the places of one line, because a process that parses a whole map takes longer than most tests. */
function originOf(url, line, column) {
  const path = fileURLToPath(url) + '.places'
  let file
  try {
    file = openSync(path)
  } catch {
    // A file of the bundler alone has no map.
    return url + ':' + line + ':' + column
  }
  try {
    const numbers = (first, count) => {
      const found = new Int32Array(count)
      readSync(file, found, 0, 4 * count, 4 * first)
      return found
    }
    const [lines, count] = numbers(0, 2)
    const [start, end] = numbers(2 + Math.min(line - 1, lines), 2)
    // The place before the first one of the line is valid until that.
    const first = Math.max(start - 1, 0)
    const places = numbers(4 + lines + ${placeSize} * first, ${placeSize} * (end - first))
    let found = -1
    for (let at = 0; at < places.length; at += ${placeSize})
      if (places[at] < line - 1 || places[at + 1] < column) found = at
    if (found < 0 || places[found + 2] < 0) return url + ':' + line + ':' + column
    const [ownLine, ownColumn, source, sourceLine, sourceColumn] = places.subarray(found)
    const { size } = fstatSync(file)
    const names = Buffer.alloc(size - 4 * (4 + lines + ${placeSize} * count))
    readSync(file, names, 0, names.length, size - names.length)
    const sources = JSON.parse(names)
    return new URL(sources[source], url).href + ':' + (sourceLine + line - ownLine) + ':' + (sourceColumn + column - ownColumn)
  } finally {
    closeSync(file)
  }
}

const places = new Map()
export function importMetaOf(url) {
  let place = places.get(url)
  if (place === undefined) {
    const filename = fileURLToPath(url)
    place = Object.assign(Object.create(null), {
      dirname: fileURLToPath(new URL('.', url)).replace(/(?<=.)[/\\\\]$/, ''),
      filename,
      main: url === started,
      resolve: (specifier) => import.meta.resolve('${fromSource}' + url + '|' + specifier),
      url,
    })
    places.set(url, place)
  }
  return place
}
`
}

/** Gives each source file its own `import.meta`, and resolves the names that it computes for `import()` from its place. */
function placeOfSource(redirect: string): Plugin {
  return {
    name: 'place-of-source',
    transform: {
      filter: { id: sourceFile, code: /import\s*(?:\.\s*meta|\()/ },
      handler: (code, id) => {
        const url = pathToFileURL(id).href
        const text = new RolldownMagicString(code)
        new Visitor({
          MetaProperty: ({ meta, start, end }) => {
            if (meta.name === 'import') text.overwrite(start, end, '$ofSource()')
          },
          ImportExpression: ({ source: { type, start, end } }) => {
            if (type === 'Literal') return
            text.appendLeft(start, `\`${fromSource}${url}|\${`)
            text.prependRight(end, '}`')
          },
        }).visit(parseSync(id, code).program)
        if (!text.hasChanged()) return null
        // The empty export marks a file with the words `module` and `exports` as an ES module.
        text.append(
          `\nexport {}\nimport { importMetaOf as $importMetaOf } from ${JSON.stringify(redirect)}` +
            `\nfunction $ofSource() { return $importMetaOf(${JSON.stringify(url)}) }`,
        )
        return { code: text.toString(), map: text.generateMap({ hires: true, source: id }).toString() }
      },
    },
  }
}

/** Packages have variables named `process`. */
const builtin = 'globalThis.process.getBuiltinModule'

/** Replaces the function `require` of packages where it loads something else than joined code: an ES module has none. */
function requireOfPackages(): Plugin {
  return {
    name: 'require-of-packages',
    transform: {
      filter: { id: /[/\\]node_modules[/\\].*\.c?js$/, code: /\brequire\s*\(/ },
      handler: (code, id) => {
        const text = new RolldownMagicString(code)
        new Visitor({
          CallExpression: ({ callee, arguments: [named] }) => {
            if (callee.type !== 'Identifier' || callee.name !== 'require') return
            const name = named?.type === 'Literal' ? String(named.value) : null
            // An import would load the module of Node.js at the start, which takes longer than the package.
            if (name !== null && isBuiltin(name)) text.overwrite(callee.start, callee.end, builtin)
            else if (name === null || (isPackage(name) && !isInstalled(name, id)))
              text.overwrite(callee.start, callee.end, `${builtin}('module').createRequire(${JSON.stringify(id)})`)
          },
        }).visit(parseSync(id, code).program)
        if (!text.hasChanged()) return null
        return { code: text.toString(), map: text.generateMap({ hires: true, source: id }).toString() }
      },
    },
  }
}
