/**
 * `npm run api-report`: writes the public declarations of the package to docs/api, by what they promise. A test compares
 * them with the code. `@public` in the comment of a declaration marks a stable name, `@experimental` an experimental one.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runCompiler } from './compiler.ts'

const root = dirname(import.meta.dirname)
export const reportPath = join(root, 'docs', 'api', 'troupe.api.txt')

/** Values whose types have members that applications never see. The report omits their types. */
const omitted: ReadonlySet<string> = new Set(['groups'])

/** The promise of the package about a name. */
export type Promised = 'stable' | 'experimental'

/** A declaration: each of its statements, and the mark of the first one that has a mark. */
interface Declaration {
  readonly texts: readonly string[]
  readonly mark: string | undefined
}

/** A name that a module declares, imports or exports again. */
interface Origin {
  readonly path: string
  readonly name: string
}

/** A declaration that a name of an entry needs, as the report shows it. */
interface Needed {
  readonly name: string
  readonly neededBy: string
  readonly text: string
  readonly mark: string | undefined
}

interface Module {
  /** Overloads have several statements. */
  readonly declared: Map<string, Declaration>
  /** The names that other modules of the package declare. */
  readonly imported: Map<string, Origin>
  /** The names that the module exports from elsewhere, and the marks of names from other packages. */
  readonly passedOn: Map<string, Origin & { readonly mark: string | undefined }>
  readonly exported: Set<string>
  /** The members that the module adds to interfaces of other modules. */
  readonly added: readonly (Origin & { readonly text: string })[]
}

/**
 * The report: the names of each entry of the package by what they promise, the declarations of the stable names with all
 * types behind them, and those that only experimental names need.
 *
 * @throws Error when the compiler fails, a name has no declaration or no mark, or a stable one needs an experimental one.
 */
export function apiReport(): string {
  const folder = mkdtempSync(join(tmpdir(), 'api-report-'))
  try {
    emitDeclarations(folder)
    return reportOf((path) => readFileSync(join(folder, path), 'utf8'), entryPoints())
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function emitDeclarations(folder: string): void {
  const project = join(root, 'tsconfig.build.json')
  const { isValid, output } = runCompiler(['-p', project, '--emitDeclarationOnly', '--outDir', folder], root)
  if (!isValid) throw new Error(`Cannot write the API report: the compiler failed:\n${output}`)
}

interface Entry {
  readonly entry: string
  readonly path: string
}

/** @param read Returns the declaration file of the compiler at this path. @throws Error as `apiReport` does. */
export function reportOf(read: (path: string) => string, entries: readonly Entry[]): string {
  const modules = new Modules(read)
  const names = entries.map(({ entry, path }) => ({ entry, path, names: modules.exportsOf(path) }))
  const promised = (mark: Promised): Origin[] =>
    names.flatMap(({ path, names: all }) => all.filter(([, has]) => has === mark).map(([name]) => ({ path, name })))
  const [stableNames, experimentalNames] = [promised('stable'), promised('experimental')]
  const stable = modules.declarationsOf(stableNames, withoutExperimentalMembers)
  const unstable = modules.declarationsOf([...stableNames, ...experimentalNames], (text) => text)
  const wrong = [...stable.values()].filter(({ mark }) => mark === '@experimental')
  if (wrong.length > 0) {
    const needs = wrong.map(({ name, neededBy }) => `${neededBy} needs ${name}`).join(', ')
    throw new Error(`A stable name needs an experimental one. Mark the member with @experimental: ${needs}`)
  }
  const others = new Map([...unstable].filter(([key]) => !stable.has(key)))
  return [
    '# Names by promise\n',
    table(names.map(({ entry, names: all }) => ({ entry, marks: all.map(([, mark]) => mark) }))),
    ...names.flatMap(({ entry, names: all }) => [`# ${entry}\n`, listed(all, 'stable'), listed(all, 'experimental')]),
    '# Declarations of stable names\n',
    `${textOf(stable)}\n`,
    '# Declarations that only experimental names need\n',
    textOf(others),
    '',
  ]
    .filter((part, index, parts) => part !== '' || index === parts.length - 1)
    .join('\n')
}

function table(entries: readonly { readonly entry: string; readonly marks: readonly Promised[] }[]): string {
  const rows = [...entries, { entry: 'all', marks: entries.flatMap(({ marks }) => marks) }].map(({ entry, marks }) => {
    const count = (mark: Promised): string => String(marks.filter((one) => one === mark).length).padStart(14)
    return `${entry.padEnd(16)}${count('stable')}${count('experimental')}`
  })
  return `${[`${''.padEnd(16)}${'stable'.padStart(14)}${'experimental'.padStart(14)}`, ...rows].join('\n')}\n`
}

function listed(all: readonly (readonly [name: string, mark: Promised])[], mark: Promised): string {
  const names = all.filter(([, has]) => has === mark).map(([name]) => name)
  return names.length === 0 ? '' : `## ${mark}\n\n${names.join('\n')}\n`
}

function textOf(declarations: ReadonlyMap<string, Needed>): string {
  const texts = [...declarations].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, { text }]) => text)
  return texts.join('\n\n')
}

/** The modules of the package, read when a name needs them. */
class Modules {
  readonly #read: (path: string) => string
  readonly #modules = new Map<string, Module>()

  constructor(read: (path: string) => string) {
    this.#read = read
  }

  #at(path: string): Module {
    const module = this.#modules.get(path) ?? readModule(path, this.#read(path))
    this.#modules.set(path, module)
    return module
  }

  /** The names that an entry exports, in order. @throws Error for a name without a mark, or an internal one. */
  exportsOf(path: string): (readonly [name: string, mark: Promised])[] {
    const { exported, passedOn } = this.#at(path)
    return [...exported, ...passedOn.keys()].toSorted().map((name) => {
      const mark = this.find({ path, name })?.declaration.mark ?? passedOn.get(name)?.mark
      if (mark === '@public') return [name, 'stable']
      if (mark === '@experimental') return [name, 'experimental']
      throw new Error(
        mark === '@internal'
          ? `The entry ${path} exports ${name}, which is internal`
          : `The exported name ${name} has no mark: add @public or @experimental to the comment of its declaration`,
      )
    })
  }

  /** The declaration that a name means; undefined when another package declares the name. */
  find({ path, name }: Origin): { readonly path: string; readonly declaration: Declaration } | undefined {
    const module = this.#at(path)
    const declaration = module.declared.get(name)
    if (declaration !== undefined) return { path, declaration }
    const origin = module.passedOn.get(name) ?? module.imported.get(name)
    if (origin === undefined) throw new Error(`Cannot find the declaration of ${name} in ${path}`)
    return origin.path.endsWith('.d.ts') ? this.find(origin) : undefined
  }

  /** The members that modules behind the entries add to an interface, each with the module that has their types. */
  #addedTo({ path, name }: Origin): { readonly path: string; readonly text: string }[] {
    return [...this.#modules]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([from, { added }]) =>
        added.flatMap((more) => (more.path === path && more.name === name ? [{ path: from, text: more.text }] : [])),
      )
  }

  /**
   * The declarations of names and of all types behind them, by name and file.
   *
   * @param read Returns the part of a declaration whose types belong to the result.
   */
  declarationsOf(names: readonly Origin[], read: (text: string) => string): Map<string, Needed> {
    const found = new Map<string, Needed>()
    const add = (origin: Origin, neededBy: string): void => {
      const declared = this.find(origin)
      if (declared === undefined) return
      const { path, declaration } = declared
      const [, name = ''] = declarationStart.exec(declaration.texts[0] ?? '') ?? []
      const key = `${name} ${path}`
      if (found.has(key)) return
      const added = this.#addedTo({ path, name })
      const text = [...declaration.texts, ...added.map((more) => more.text)].join('\n')
      found.set(key, { name, neededBy, text: shown(text), mark: declaration.mark })
      if (omitted.has(name)) return
      for (const part of [...declaration.texts.map((one) => ({ path, text: one })), ...added]) {
        const module = this.#at(part.path)
        for (const [word] of withoutStrings(read(part.text)).matchAll(/[A-Za-z_$][\w$]*/g))
          if (word !== name && (module.declared.has(word) || module.imported.has(word)))
            add({ path: part.path, name: word }, name)
      }
    }
    for (const name of names) add(name, 'an entry')
    return found
  }
}

/** The text with a comment before each experimental member, and without other marks. */
function shown(text: string): string {
  return text.replaceAll('/*@experimental*/', '// Experimental:').replaceAll(/^ *\/\*@\w+\*\/\n/gm, '')
}

function entryPoints(): Entry[] {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.entries(manifest.exports).flatMap(([entry, target]) =>
    typeof target === 'string'
      ? []
      : [{ entry: `${manifest.name}${entry.slice(1)}`, path: target.types.replace(/^\.\/dist\//, '') }],
  )
}

const declarationStart =
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const|let|enum) ([\w$]+)/

function readModule(path: string, text: string): Module {
  const added: (Origin & { readonly text: string })[] = []
  const module: Module = { declared: new Map(), imported: new Map(), passedOn: new Map(), exported: new Set(), added }
  for (const commented of statementsOf(withMarks(text))) {
    const [, mark, statement = ''] = /^(?:\/\*(@\w+)\*\/\n)?([\s\S]*)$/.exec(commented) ?? []
    const [, augmented, inner = ''] = /^declare module '(.*)' \{\n([\s\S]*)\n\}$/.exec(statement) ?? []
    if (augmented !== undefined)
      for (const text of statementsOf(inner.replaceAll(/^ {4}/gm, '')))
        added.push({ path: targetOf(path, augmented), name: declarationStart.exec(text)?.[1] ?? '', text })
    const names = /^(import|export)(?: type)? \{(.*)\} from '(.*)';$/s.exec(statement)
    const [, name] = declarationStart.exec(statement) ?? []
    if (names !== null) {
      const [, kind, list = '', from = ''] = names
      const target = targetOf(path, from)
      for (const [, original = '', alias = original] of list.matchAll(/(?:type )?([\w$]+)(?: as ([\w$]+))?/g)) {
        if (kind === 'import') module.imported.set(alias, { path: target, name: original })
        else module.passedOn.set(alias, { path: target, name: original, mark })
      }
    } else if (name !== undefined) {
      const known = module.declared.get(name)
      module.declared.set(name, { texts: [...(known?.texts ?? []), statement], mark: known?.mark ?? mark })
      if (statement.startsWith('export ')) module.exported.add(name)
    }
  }
  return module
}

function targetOf(path: string, specifier: string): string {
  return specifier.startsWith('.') ? join(dirname(path), specifier).replace(/\.ts$/, '.d.ts') : specifier
}

/** The text with a comment of one line for each mark, and without other comments. */
function withMarks(text: string): string {
  const lines = text.replaceAll(
    /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (part) => {
      if (!part.startsWith('/')) return part
      const [, mark] = /^\/\*\*[^]*(@(?:public|experimental|internal))\b/.exec(part) ?? []
      return mark === undefined ? '' : `/*${mark}*/`
    },
  )
  return lines.replaceAll(/^[ \t]+$/gm, '').replaceAll(/\n{2,}/g, '\n')
}

/** The declaration without its members that have the mark, each of which ends with the line that closes its brackets. */
function withoutExperimentalMembers(text: string): string {
  const [first = '', ...marked] = text.split('/*@experimental*/\n')
  return [first, ...marked.map((part) => part.slice(statementsOf(part)[0]?.length ?? 0))].join('')
}

/** The statements of a declaration file of the compiler, which begins each one on a line of its own. */
function statementsOf(text: string): string[] {
  const statements: string[] = []
  let current = ''
  for (const line of text.split('\n')) {
    current += current === '' ? line : `\n${line}`
    const code = withoutStrings(current)
    const opened = code.match(/[{[(]/g)?.length ?? 0
    const closed = code.match(/[}\])]/g)?.length ?? 0
    if (opened !== closed || !/[;}]$/.test(current)) continue
    statements.push(current)
    current = ''
  }
  return statements
}

function withoutStrings(text: string): string {
  return text.replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
}

if (import.meta.main) {
  mkdirSync(dirname(reportPath), { recursive: true })
  writeFileSync(reportPath, apiReport())
}
