/** `troupe new`: makes a project with an application, its tests and a Dockerfile. */
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeFolder } from '../release.ts'
import { print } from './output.ts'
import { UsageError } from './usage-error.ts'

/** The files of `examples/new`, which a new project begins with. */
const copied = ['app.ts', 'app.test.ts', 'Dockerfile', 'README.md'] as const

const typescript = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noEmit: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ['*.ts'],
}
const ignored = 'node_modules/\ndata/\n'
/** Files that the package cannot contain, or that would change how this project is compiled. */
const written: Readonly<Record<string, string>> = {
  'tsconfig.json': `${JSON.stringify(typescript, null, 2)}\n`,
  '.gitignore': ignored,
  '.dockerignore': ignored,
}

const scripts = {
  dev: 'troupe dev app.ts',
  start: 'troupe serve app.ts',
  test: 'node --test',
  check: 'tsc',
}

interface PackageFile {
  readonly name?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** @throws UsageError without a folder, or when the folder has one of the files already. */
export async function newProject(args: readonly string[]): Promise<number> {
  const [given, ...more] = args
  if (given === undefined || more.length > 0)
    throw new UsageError('Name the folder of the new project: troupe new my-app.')
  const folder = resolve(given)
  const names = [...copied, ...Object.keys(written)]
  const existing = names.find((name) => existsSync(join(folder, name)))
  if (existing !== undefined)
    throw new UsageError(`Cannot make a project in ${given}: ${existing} exists. Choose a new folder.`)
  const packageFile = await packageFileOf(folder)
  await mkdir(folder, { recursive: true })
  for (const name of copied)
    await copyFile(fileURLToPath(new URL(`../examples/new/${name}`, codeFolder)), join(folder, name))
  for (const [name, text] of Object.entries(written)) await writeFile(join(folder, name), text)
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(packageFile, null, 2)}\n`)
  const place = relative('.', folder)
  print(`The project is in ${place === '' ? 'this folder' : place}. Next:`)
  if (place !== '') print(`  cd ${place}`)
  print('  npm install')
  print('  npm run dev')
  return 0
}

/** Adds what is missing to the package.json of the folder, if it has one. */
async function packageFileOf(folder: string): Promise<object> {
  const path = join(folder, 'package.json')
  const present = existsSync(path) ? await readPackage(path, `${path} is not JSON`) : {}
  const own = await readPackage(fileURLToPath(new URL('../package.json', codeFolder)), 'The package is damaged')
  const versionOf = (name: string): string => own.devDependencies?.[name] ?? '*'
  const { version = '0.0.0' } = own as { readonly version?: string }
  return {
    name: packageName(folder),
    private: true,
    ...present,
    type: 'module',
    scripts: { ...scripts, ...present.scripts },
    dependencies: { troupe: `^${version}`, zod: versionOf('zod'), ...present.dependencies },
    devDependencies: {
      '@types/node': versionOf('@types/node'),
      typescript: versionOf('typescript'),
      ...present.devDependencies,
    },
  }
}

async function readPackage(path: string, problem: string): Promise<PackageFile> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as PackageFile
  } catch (error) {
    if (error instanceof SyntaxError) throw new UsageError(`Cannot make a project: ${problem}.`)
    throw error
  }
}

/** A name that npm accepts. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|(?<!-)-+$/g, '')
  return name === '' ? 'my-app' : name
}
