/** `npm run api-report`: writes the public declarations of the package to docs/api. A test compares them with the code. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)
export const reportPath = join(root, 'docs', 'api', 'troupe.api.txt')

/** Declarations whose types the report omits, because applications do not use them. */
const omitted: ReadonlySet<string> = new Set(['Replaceable'])

/** A name that a module declares, imports or exports again. */
interface Origin {
  readonly path: string
  readonly name: string
}

interface Module {
  /** The text of each declared name. Overloads have several statements. */
  readonly declared: Map<string, string[]>
  /** The names that other modules of the package declare. */
  readonly imported: Map<string, Origin>
  /** The names that the module exports from elsewhere. */
  readonly passedOn: Map<string, Origin>
  readonly exported: Set<string>
}

/**
 * The report: the names of each entry of the package, and the declarations of these names with all types behind them.
 *
 * @throws Error when the compiler fails, or an exported name has no declaration.
 */
export function apiReport(): string {
  const folder = mkdtempSync(join(tmpdir(), 'api-report-'))
  try {
    emitDeclarations(folder)
    return reportOf(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function emitDeclarations(folder: string): void {
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  const project = join(root, 'tsconfig.build.json')
  const options = ['--emitDeclarationOnly', '--removeComments', '--outDir', folder]
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', project, ...options], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`Cannot write the API report: the compiler failed:\n${stdout}`)
}

function reportOf(folder: string): string {
  const modules = new Map<string, Module>()
  const moduleAt = (path: string): Module => {
    const known = modules.get(path)
    if (known !== undefined) return known
    const read = readModule(path, readFileSync(join(folder, path), 'utf8'))
    modules.set(path, read)
    return read
  }
  const declarations = new Map<string, string>()
  const add = ({ path, name }: Origin): void => {
    const module = moduleAt(path)
    const origin = module.declared.has(name) ? undefined : (module.passedOn.get(name) ?? module.imported.get(name))
    if (origin !== undefined) {
      if (origin.path.endsWith('.d.ts')) add(origin)
      return
    }
    const key = `${name} ${path}`
    const text = module.declared.get(name)?.join('\n')
    if (text === undefined) throw new Error(`Cannot find the declaration of ${name} in ${path}`)
    if (declarations.has(key)) return
    declarations.set(key, text)
    if (omitted.has(name)) return
    for (const [word] of withoutStrings(text).matchAll(/[A-Za-z_$][\w$]*/g))
      if (word !== name && (module.declared.has(word) || module.imported.has(word))) add({ path, name: word })
  }
  const entries = entryPoints().map(({ entry, path }) => {
    const module = moduleAt(path)
    const names = [...module.exported, ...module.passedOn.keys()].toSorted()
    for (const name of names) add({ path, name })
    return `# ${entry}\n\n${names.join('\n')}\n`
  })
  const texts = [...declarations].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  return `${entries.join('\n')}\n# Declarations\n\n${texts.join('\n\n')}\n`
}

function entryPoints(): { readonly entry: string; readonly path: string }[] {
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

function readModule(path: string, text: string): Module {
  const module: Module = { declared: new Map(), imported: new Map(), passedOn: new Map(), exported: new Set() }
  for (const statement of statementsOf(text)) {
    const listed = /^(import|export)(?: type)? \{(.*)\} from '(.*)';$/s.exec(statement)
    const declaration =
      /^(export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const|let|enum) ([\w$]+)/.exec(statement)
    if (listed !== null) {
      const [, kind, names = '', from = ''] = listed
      const target = from.startsWith('.') ? join(dirname(path), from).replace(/\.ts$/, '.d.ts') : from
      for (const [, name = '', alias = name] of names.matchAll(/(?:type )?([\w$]+)(?: as ([\w$]+))?/g))
        (kind === 'import' ? module.imported : module.passedOn).set(alias, { path: target, name })
    } else if (declaration !== null) {
      const [, exported, name = ''] = declaration
      module.declared.set(name, [...(module.declared.get(name) ?? []), statement])
      if (exported !== undefined) module.exported.add(name)
    }
  }
  return module
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
