/** `troupe new`: makes a project with an application, its tests, a Dockerfile and files to deploy it. */
import { existsSync } from 'node:fs'
import { copyFile, cp, readFile, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeFolder } from '../../release.ts'
import { commandArgs } from '../command-args.ts'
import { print } from '../output.ts'
import { copyPackage } from './package-archive.ts'
import { UsageError } from '../usage-error.ts'

/** The files of `examples/new`, which a new project begins with. */
const copied = ['app.ts', 'app.test.ts', 'Dockerfile', 'README.md'] as const
/** The folder of `examples` that a new project has too (docs/decisions/201). */
const deployment = 'deploy'

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
/** Secrets, data and installed packages: neither the history nor the image may contain them. */
const ignored = [
  'node_modules/',
  'data/',
  'backups/',
  'secrets/',
  '.env',
  '.env.*',
  '*.env',
  '*.pem',
  '*.key',
  '*.db',
  '*.db-*',
]
/** The image does not need the history, the tests and the files that describe how it is made. `.npmrc` may have tokens. */
const leftOut = [
  '.git/',
  '.github/',
  '.gitignore',
  '.npmrc',
  'Dockerfile',
  '.dockerignore',
  'README.md',
  '*.test.ts',
  'vendor/',
  'deploy/',
]

/** Files that the package cannot contain, or that would change how this project is compiled. */
const written: Readonly<Record<string, string>> = {
  'tsconfig.json': `${JSON.stringify(typescript, null, 2)}\n`,
  '.gitignore': linesOf(ignored),
  '.dockerignore': linesOf([...ignored, ...leftOut].map((name) => `**/${name}`)),
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
  const { words, options } = commandArgs('troupe new', args, { archive: 'string' })
  const [given, ...more] = words
  if (given === undefined || more.length > 0)
    throw new UsageError('Name the folder of the new project: troupe new my-app.')
  const folder = resolve(given)
  const names = [...copied, deployment, ...Object.keys(written)]
  const existing = names.find((name) => existsSync(join(folder, name)))
  if (existing !== undefined)
    throw new UsageError(`Cannot make a project in ${given}: ${existing} exists. Choose a new folder.`)
  const present = await readPresent(folder)
  const archive = await copyPackage(join(folder, 'vendor'), options.archive)
  const examples = fileURLToPath(new URL('../examples/', codeFolder))
  for (const name of copied) await copyFile(join(examples, 'new', name), join(folder, name))
  await cp(join(examples, deployment), join(folder, deployment), { recursive: true })
  for (const [name, text] of Object.entries(written)) await writeFile(join(folder, name), text)
  const packageFile = await packageFileOf(folder, present, `file:vendor/${archive}`)
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(packageFile, null, 2)}\n`)
  const place = relative('.', folder)
  print(`The project is in ${place === '' ? 'this folder' : place}. Next:`)
  if (place !== '') print(`  cd ${place}`)
  print('  npm install')
  print('  npm run dev')
  return 0
}

function linesOf(names: readonly string[]): string {
  return names.map((name) => `${name}\n`).join('')
}

async function readPresent(folder: string): Promise<PackageFile> {
  const path = join(folder, 'package.json')
  return existsSync(path) ? await readPackage(path, `${path} is not JSON`) : {}
}

/** Adds what is missing to the package.json of the folder. The project gets Troupe from its own archive. */
async function packageFileOf(folder: string, present: PackageFile, troupe: string): Promise<object> {
  const own = await readPackage(fileURLToPath(new URL('../package.json', codeFolder)), 'The package is damaged')
  const versionOf = (name: string): string => own.devDependencies?.[name] ?? '*'
  return {
    name: packageName(folder),
    private: true,
    ...present,
    type: 'module',
    scripts: { ...scripts, ...withoutPlaceholder(present.scripts) },
    dependencies: { zod: versionOf('zod'), ...present.dependencies, troupe },
    devDependencies: {
      '@types/node': versionOf('@types/node'),
      typescript: versionOf('typescript'),
      ...present.devDependencies,
    },
  }
}

/** `npm init` writes a test script that only fails. */
function withoutPlaceholder({ test, ...others }: PackageFile['scripts'] = {}): PackageFile['scripts'] {
  return test === undefined || test.includes('no test specified') ? others : { ...others, test }
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
