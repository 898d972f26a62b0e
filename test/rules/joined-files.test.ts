import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { joinFiles, sourceArguments } from '../support/joined-files.ts'
import { type Random, seeded } from '../support/random.ts'

/** The text of each file. */
type Files = Readonly<Record<string, string>>

/** A folder with files that Node.js runs from their sources, or joined. */
class Project {
  readonly folder = mkdtempSync(join(realpathSync(tmpdir()), 'troupe-joined-'))

  constructor(files: Files) {
    for (const [name, text] of Object.entries({ 'package.json': '{"name":"project","type":"module"}', ...files })) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true })
      writeFileSync(join(this.folder, name), text)
    }
  }

  join(names: readonly string[]): ReturnType<typeof joinFiles> {
    return joinFiles(
      this.folder,
      names.map((name) => join(this.folder, name)),
      { packages: ['joined', 'joined-module'] },
    )
  }

  /** Returns what Node.js prints with the arguments, without the place of the folder. */
  output(args: readonly string[]): string {
    const { stdout, stderr, status } = spawnSync(process.execPath, args, {
      cwd: this.folder,
      encoding: 'utf8',
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    })
    return (
      `${stdout}${stderr}The code is ${status}`
        .replaceAll(this.folder, '')
        // A source map names a file by its path, Node.js by its URL.
        .replaceAll('file://', '')
        // The body of a joined module is a function without a name.
        .replaceAll(/at <anonymous> \((.*?)\)/g, 'at $1')
    )
  }

  /** Compares what Node.js prints from the sources, and with the named files joined. */
  async compare(
    names: readonly string[],
    starts: readonly (readonly string[])[],
    read: (output: string) => string = (output) => output,
  ): Promise<void> {
    const fromSource = starts.map((args) => read(this.output(['--conditions=troupe-source', ...args])))
    const files = await this.join(names)
    try {
      const joined = starts.map((args) => read(this.output([...sourceArguments(), ...args])))
      assert.deepEqual(joined, fromSource)
    } finally {
      await files.remove()
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }
}

/** A module that prints everything that joining could change. The lines are the same in every module. */
function probing(name: string, { imports = '', exports = '', data = './data.json' } = {}): string {
  return `${imports}
import { createRequire as requireOf } from 'node:module'
import data from '${data}' with { type: 'json' }
interface Unused { readonly one: 1 } // import.meta.url and import.meta.main in a comment
const print = (what: string, ...values: unknown[]): void =>
  console.log('${name}', what, ...values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))))
print('main', import.meta.main, (import.meta)['main'], import.meta?.main)
print('place', import.meta.url, import.meta.filename, import.meta.dirname)
const { url, ...rest } = import.meta
print('parts', url, Object.keys(rest), Object.getPrototypeOf(import.meta), import.meta === import.meta)
print('resolve', import.meta.resolve('./beside.ts'), import.meta.resolve('pack'), import.meta.resolve('node:fs'))
print('strings', 'import.meta.url', \`import.meta.main \${import.meta.main} import('./x.ts')\`, /import.meta.dirname/.source)
print('program', process.argv[1], process.argv.length)
print('require', requireOf(import.meta.url).resolve('pack'), requireOf(import.meta.url)('pack').kind)
print('globals', typeof require, typeof module, typeof exports, typeof __filename, typeof __dirname)
print('json', data)
function named(): string { return new Error('place').stack?.split('\\n').slice(1, 3).join(' ') ?? '' }
class Local { static own = 1; kind: string; constructor() { this.kind = new.target.name } place(): string { return named() } }
class Derived extends Local {}
const arrow = (): void => {}
const anonymous = class {}
print('names', named.name, Local.name, Derived.name, arrow.name, anonymous.name, new Derived().kind, Object.keys(Local))
print('stack', named()); print('same line', import.meta.url.length, named())
print('method', new Local().place())
const twice = (text) => { function both(x) { return x + x } class Pair { value = both(text) }; return new Pair().value }
print('function text', new Function(\`return \${twice}\`)()('ab'))
try { print('unknown', Reflect.get(globalThis, 'unknown').member) } catch (error) { print('error', error.stack?.split('\\n')[1]) }
${exports}`
}

const shared = `let count = 0
export class Shared { constructor() { count++ } }
export const counted = (): number => count
export default class {}
`
const make = 'export const make = () => new Shared()\n'
const files: Files = {
  'node_modules/pack/package.json': '{"name":"pack","exports":{"import":"./import.mjs","require":"./require.cjs"}}',
  'node_modules/pack/import.mjs': 'export const kind = "import"',
  'node_modules/pack/require.cjs': 'exports.kind = "require"',
  'data.json': '{"one":1,"two":[2]}',
  'entry.ts': probing('entry', {
    imports: `import './inlined.ts'; import Base, { Shared, counted } from './deep/shared.ts'; import './program.ts'`,
    exports: `const lazy = await import('./lazy.ts')
print('lazy', Object.keys(lazy), lazy.make() instanceof Shared, counted(), lazy.default.name, Base.name)
print('computed', await import('./deep/' + ['computed', 'ts'].join('.')))
const program = await import(new URL('program.ts', import.meta.url).href)
print('program', Object.keys(program), program.make() instanceof Shared, counted())
const fail = () => import('./failing.ts').catch((error) => error)
print('failing', (await fail()).stack.split('\\n').slice(0, 2), (await fail()) === (await fail()))
`,
  }),
  'inlined.ts': probing('inlined'),
  'deep/shared.ts': probing('shared', { exports: shared, data: '../data.json' }),
  'deep/computed.ts': 'export const one = 1',
  'lazy.ts': probing('lazy', {
    imports: "import { Shared } from './deep/shared.ts'",
    exports: `${make}export default function () {}\n`,
  }),
  'program.ts': probing('program', { imports: "import { Shared } from './deep/shared.ts'", exports: make }),
  'failing.ts': "const place: string = 'failing'\n\nthrow new TypeError(place)\n",
  'launch.mjs':
    "const program = await import(new URL('./program.ts', import.meta.url).href)\nconsole.log(Object.keys(program))",
  'workers.ts': probing('workers', {
    imports: `import { Worker } from 'node:worker_threads'; import { once } from 'node:events'; import './inlined.ts'`,
    exports:
      "for (const name of ['worker.ts', 'program.ts']) await once(new Worker(new URL(name, import.meta.url)), 'exit')",
  }),
  'worker.ts': probing('worker', { imports: "import './inlined.ts'" }),
  'preload.ts': probing('preload', { imports: "import './inlined.ts'" }),
  'uncaught.ts':
    "import './inlined.ts'\nconst fail = async (): Promise<void> => {\n  throw new Error('uncaught')\n}\nawait fail()\n",
  'rejected.ts': "import './inlined.ts'\nawait import('./failing.ts')\n",
  'children.ts': `import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
if (process.argv.length > 2) console.log('forked', import.meta.main, process.argv[1])
else {
  await once(fork(import.meta.filename, ['again']), 'exit')
  await once(fork(process.argv[1] ?? '', ['again']), 'exit')
  console.log(execFileSync(process.execPath, [...process.execArgv, new URL('program.ts', import.meta.url).pathname], { encoding: 'utf8' }))
}
`,
}
const joinedNames = [
  'entry.ts',
  'program.ts',
  'workers.ts',
  'worker.ts',
  'preload.ts',
  'uncaught.ts',
  'rejected.ts',
  'children.ts',
]

/** Packages that become part of the joined files, and one that only they need. */
const packageFiles: Files = {
  'node_modules/joined/package.json': '{"name":"joined","main":"main.js"}',
  'node_modules/joined/main.js': `'use strict'
const process = require('process')
const { one } = require('./circle.js')
exports.late = 'late'
const { EventEmitter } = require('node:events')
const needed = require('needed')
let native = null
try { native = require('not-installed') } catch (error) { native = error.code }
const loadNamed = (name) => require(name)
class Special extends EventEmitter { get names() { return [this.constructor.name, process.argv.length, require('path').sep] } }
exports.all = () => [one(), native, new Special().names, loadNamed('./named.js'), needed, typeof this, Object.keys(exports)]
exports.needed = needed
exports.strict = (function () { return this === undefined })()
`,
  'node_modules/joined/circle.js': "const main = require('./main.js')\nexports.one = () => [main.late, 'circle']\n",
  'node_modules/joined/named.js': "module.exports = 'named'\n",
  'node_modules/joined/deep.js': 'module.exports = class Deep {}\n',
  'node_modules/needed/package.json': '{"name":"needed","exports":{"import":"./import.mjs","require":"./require.cjs"}}',
  'node_modules/needed/import.mjs': 'export const kind = "needed import"',
  'node_modules/needed/require.cjs': 'exports.kind = "needed require"',
  'node_modules/joined-module/package.json': '{"name":"joined-module","type":"module","exports":"./main.js"}',
  'node_modules/joined-module/main.js':
    "import { other } from './other.js'\nimport { kind } from 'needed'\nexport const value = () => [other(), kind]\nexport default class Own {}\n",
  'node_modules/joined-module/other.js': "import { value } from './main.js'\nexport const other = () => typeof value\n",
  // Not joined, and needs a package that is.
  'node_modules/outside/package.json': '{"name":"outside","type":"module","exports":"./main.js"}',
  'node_modules/outside/main.js': "import { kind } from 'needed'\nexport const kindOf = () => kind\n",
  'first.ts': `import { readFileSync } from 'node:fs'
import joined, { late } from 'joined'
import Own, { value } from 'joined-module'
import { again } from './second.ts'
console.log('first', late, JSON.stringify(joined.all()), joined.strict, Own.name, value(), readFileSync.name)
console.log('same', again === joined, (await import('joined')).default === joined, joined.needed.kind)
const { default: Deep } = await import('joined/deep.js')
console.log('lazy', Deep.name, (await import('joined-module')).default === Own)
console.log('outside', (await import('outside')).kindOf())
`,
  'second.ts': "import joined from 'joined'\nexport const again = joined\nconsole.log('second', joined.late)\n",
}

describe('joined files', () => {
  let project: Project
  before(() => {
    project = new Project(files)
  })
  after(() => project.remove())

  it('print what their sources print, however they are started', async () => {
    await project.compare(joinedNames, [
      ['./entry.ts'],
      ['./program.ts', 'argument'],
      ['./launch.mjs'],
      ['./workers.ts'],
      ['--import=./preload.ts', './program.ts'],
      ['--import=./preload.ts', './workers.ts'],
      ['./children.ts'],
      ['--eval', "import('./program.ts')"],
    ])
  })

  it('report the places of uncaught errors in the sources', async () => {
    // The functions that run joined modules follow in the stack, and the line of the joined file is above it.
    const placesInSource = (output: string): string =>
      (output.split(/\n +at (?:\S*\/node_modules|ModuleJob)/)[0] ?? '').replace(/^\/\S+:\d+\n.*\n\s*\^\n/m, '')
    await project.compare(joinedNames, [['./uncaught.ts'], ['./rejected.ts']], placesInSource)
  })

  it('do with joined packages what their sources do', async () => {
    const packaged = new Project(packageFiles)
    try {
      await packaged.compare(['first.ts'], [['./first.ts']])
    } finally {
      packaged.remove()
    }
  })

  it('run each module in the order of the imports, and a lazy import when the program reaches it', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const random = seeded(seed)
      const modules = generated(random)
      const others = Object.keys(modules).filter((name) => name !== 'm0.ts' && random.below(3) === 0)
      const graph = new Project(modules)
      try {
        await graph.compare(['m0.ts', ...others], [['./m0.ts']])
      } catch (error) {
        throw new Error(`The seed is ${seed}: ${JSON.stringify(modules, null, 1)}`, { cause: error })
      } finally {
        graph.remove()
      }
    }
  })
})

/** Modules of which each imports some of those after it, and of which some import any other one later. */
function generated(random: Random): Files {
  const size = 5 + random.below(5)
  const moduleOf = (index: number): string => {
    // A random order, because a file that several programs share must not run before one that a program has for itself.
    const imported = Array.from({ length: size }, (_, other) => ({ other, place: random.next() }))
      .filter(({ other }) => other > index && random.below(2) === 0)
      .toSorted((a, b) => a.place - b.place)
      .map(({ other }) => other)
    const lazy = random.below(5) === 0 ? 1 + random.below(size - 1) : null
    return [
      ...imported.map((other) =>
        random.below(4) === 0
          ? `import './m${other}.ts'\nconst value${other} = 0, Type${other} = 0, later${other} = () => {}`
          : `import { value as value${other}, Type as Type${other}, later as later${other} } from './m${other}.ts'`,
      ),
      `console.log('${index} begins', ${imported.map((other) => `value${other}`).join(', ')})`,
      `export let value = ${index}`,
      `export class Type { ${imported.map((other) => `declare is${other}: typeof Type${other};`).join(' ')} }`,
      `export const later = async (): Promise<void> => {`,
      `  value++`,
      lazy === null ? '' : `  console.log('${index} loads', Object.keys(await import('./m${lazy}.ts')))`,
      `}`,
      `console.log('${index} ends', Type.name)`,
      ...(index > 0 ? [] : imported.map((other) => `await later${other}()`)),
      ...(index > 0 ? [] : ['await later()']),
    ].join('\n')
  }
  return Object.fromEntries(Array.from({ length: size }, (_, index) => [`m${index}.ts`, moduleOf(index)]))
}

describe('joining files', () => {
  const refusals: readonly (readonly [title: string, files: Files, message: RegExp])[] = [
    [
      'files that import each other',
      {
        'a.ts': "import './b.ts'\nexport const one = 1\n",
        'b.ts': "import { one } from './a.ts'\nconsole.log(one)\n",
      },
      /^Cannot join the files: .*Circular dependency: a\.ts -> b\.ts -> a\.ts\.$/,
    ],
    [
      'a package that a source and another package import from each other',
      {
        'a.ts': "import 'joined'\nexport const one = 1\n",
        'node_modules/joined/package.json': '{"name":"joined","type":"module","exports":"./main.js"}',
        'node_modules/joined/main.js': "import { one } from '../../a.ts'\nconsole.log(one)\n",
      },
      /^Cannot join the files: .*Circular dependency: /,
    ],
    [
      'a file whose import awaits at its top level',
      { 'a.ts': "import './b.ts'\n", 'b.ts': 'await Promise.resolve()\n' },
      /^Cannot join the files: b, imported in a\.mjs, awaits at its top level\.$/,
    ],
  ]
  for (const [title, refused, message] of refusals) {
    it(`refuses ${title}`, async () => {
      const project = new Project(refused)
      try {
        await assert.rejects(project.join(['a.ts']), { message })
      } finally {
        project.remove()
      }
    })
  }

  const twice: Files = {
    'a.ts':
      "import { Own } from './own.ts'\nexport const load = (name: string) => import(name)\nconsole.log(Own.name)\n",
    'own.ts': 'export class Own {}\n',
    'first.mjs': "await import('./own.ts')\nawait import('./a.ts')\n",
    'last.mjs': "await import('./a.ts')\nawait import('./own.ts')\n",
  }
  for (const first of ['first', 'last']) {
    it(`refuses a module that a process loads twice, its source ${first}`, async () => {
      const project = new Project(twice)
      const joined = await project.join(['a.ts'])
      try {
        const output = project.output([...sourceArguments(), `./${first}.mjs`])
        assert.match(output, /Error: \/own\.ts would exist twice in this process\./)
        assert.match(output, /The code is 1$/)
      } finally {
        await joined.remove()
        project.remove()
      }
    })
  }

  it('leaves no redirection behind', async () => {
    const expected = sourceArguments()
    const project = new Project({ 'a.ts': '' })
    await (await project.join(['a.ts'])).remove()
    project.remove()
    assert.deepEqual(sourceArguments(), expected)
  })
})
