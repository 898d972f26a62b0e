import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, posix, sep } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'

interface Manifest {
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly engines?: { readonly node?: string }
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Lock {
  readonly lockfileVersion: number
  readonly packages: Readonly<
    Record<string, Manifest & { version?: string; resolved?: string; link?: boolean; integrity?: string }>
  >
}

const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(join(root, path), 'utf8')) as T
}

const project = await readJson<Manifest>('package.json')
const runtime = await readJson<Manifest>('tools/runtime/package.json')
const lock = await readJson<Lock>('package-lock.json')

const named = (manifest: Manifest): [name: string, version: string][] =>
  [manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies].flatMap((group) =>
    Object.entries(group ?? {}),
  )

/** Returns the version of an entry, which may name a package with another name: `npm:package@1.2.3`. */
const versionOf = (entry: string): string => entry.replace(/^npm:@?[^@]+@/, '')

describe('an install', () => {
  it('uses exact versions only (SUP-01)', () => {
    const all = [...named(project), ...named(runtime)]
    assert.ok(all.length > 20)
    for (const [name, version] of all) assert.match(versionOf(version), /^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/, name)
  })

  it('matches the lock file in every version (SUP-01)', () => {
    assert.equal(lock.lockfileVersion, 3)
    for (const group of ['dependencies', 'devDependencies', 'optionalDependencies'] as const) {
      assert.deepEqual(lock.packages['']?.[group], project[group])
    }
    assert.deepEqual(lock.packages['tools/runtime']?.optionalDependencies, runtime.optionalDependencies)
    for (const [name, version] of [...named(project), ...named(runtime)]) {
      assert.equal(lock.packages[`node_modules/${name}`]?.version, versionOf(version), name)
    }
  })

  it('verifies a SHA-512 of every downloaded package (SUP-01)', () => {
    const remote = Object.entries(lock.packages).filter(([path]) => path.includes('node_modules/'))
    assert.ok(remote.length > 100)
    for (const [path, entry] of remote) {
      if (entry.link === true) assert.equal(path, 'node_modules/@troupe/runtime')
      else assert.match(entry.integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, path)
    }
  })

  it('is not bound to a registry, because the lock file contains no URL (SUP-01)', () => {
    for (const [path, { resolved }] of Object.entries(lock.packages)) {
      assert.equal(resolved, path === 'node_modules/@troupe/runtime' ? 'tools/runtime' : undefined, path)
    }
    assert.ok(!JSON.stringify(lock).includes('.tgz'))
  })

  it('runs no scripts of dependencies or of the package (SUP-01)', async () => {
    const lines = (await readFile(join(root, '.npmrc'), 'utf8')).split('\n')
    for (const line of ['ignore-scripts=true', 'save-exact=true', 'omit-lockfile-registry-resolved=true']) {
      assert.ok(lines.includes(line), line)
    }
    const atInstall = ['preinstall', 'install', 'postinstall', 'preprepare', 'prepare', 'postprepare', 'prepublish']
    for (const manifest of [project, runtime]) {
      for (const name of atInstall) assert.equal(manifest.scripts?.[name], undefined, name)
    }
  })

  it('accepts no version younger than seven days (SUP-01)', async () => {
    const lines = (await readFile(join(root, '.npmrc'), 'utf8')).split('\n')
    assert.ok(lines.includes('min-release-age=7'))
  })

  it('is the first step of continuous integration and uses the lock file (SUP-01)', async () => {
    const steps = (await readFile(join(root, '.ci', 'run'), 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('npm '))
    assert.deepEqual(steps, ['npm ci', 'npm run check', 'npm test'])
  })
})

describe('the supported Node.js versions', () => {
  it('begin with the first version whose SQLite stores complete strings and has no WAL defect', () => {
    assert.equal(project.engines?.node, '>=24.16')
  })
})

describe('the runtime of the project', () => {
  /** Compares versions of three numbers. */
  function isAtLeast(version: string, floor: readonly [number, number, number]): boolean {
    const parts = version.split('.').map((part) => Number.parseInt(part, 10))
    const at = floor.findIndex((part, index) => parts[index] !== part)
    return at === -1 || (parts[at] ?? 0) > (floor[at] ?? 0)
  }

  it('has a Node.js and an SQLite without known flaws (SUP-02)', () => {
    assert.ok(isAtLeast(process.versions.node, [24, 16, 0]), process.versions.node)
    const sqlite = process.versions.sqlite ?? 'none'
    assert.ok(isAtLeast(sqlite, [3, 51, 3]), sqlite)
    for (const [version, is] of [
      ['24.16.0', true],
      ['24.15.9', false],
      ['26.0.0', true],
      ['22.99.99', false],
    ] as const) {
      assert.equal(isAtLeast(version, [24, 16, 0]), is, version)
    }
  })

  it('is one of the pinned versions, and all of them are free of known flaws (SUP-02)', () => {
    const versions = Object.values(runtime.optionalDependencies ?? {})
    assert.ok(versions.includes(process.versions.node), process.versions.node)
    for (const version of versions) assert.ok(isAtLeast(version, [24, 16, 0]), version)
  })
})

describe('the page of dependencies', () => {
  it('gives a reason for exactly the packages of package.json', async () => {
    const page = await readFile(join(root, 'docs', 'dependencies.md'), 'utf8')
    const section = (title: string): string[] => {
      const text = page.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? assert.fail(title)
      return [...text.matchAll(/^- `([^`]+)`: \S.*\.$/gm)].map((match) => match[1] ?? '')
    }
    assert.deepEqual(section('At run time'), Object.keys(project.dependencies ?? {}).toSorted())
    assert.deepEqual(section('For work on the project'), Object.keys(project.devDependencies ?? {}).toSorted())
    assert.deepEqual(
      section('The runtime for work on the project'),
      Object.keys(runtime.optionalDependencies ?? {}).toSorted(),
    )
  })
})

/** Returns the paths in the lock file of the packages that an application installs with this package. */
function installedWithThePackage(): string[] {
  const found = new Set<string>()
  const add = (from: string, manifest: Manifest | undefined): void => {
    for (const name of Object.keys({ ...manifest?.dependencies, ...manifest?.optionalDependencies })) {
      let folder = from
      while (folder !== '' && lock.packages[posix.join(folder, 'node_modules', name)] === undefined) {
        folder = posix.dirname(folder).replace(/^\.$/, '')
      }
      const path = posix.join(folder, 'node_modules', name)
      if (found.has(path)) continue
      found.add(path)
      add(path, lock.packages[path])
    }
  }
  add('', project)
  return [...found]
}

/** Returns the sum of the file sizes in the folder of a package, without packages nested in it. */
async function sizeOf(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isFile()) bytes += (await stat(path)).size
    else if (entry.isDirectory() && entry.name !== 'node_modules') bytes += await sizeOf(path)
  }
  return bytes
}

describe('the program of the package', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'troupe-program-'))
    await mkdir(join(folder, 'bin'))
    await mkdir(join(folder, 'dist', 'cli'), { recursive: true })
    await cp(join(root, 'bin', 'troupe.js'), join(folder, 'bin', 'troupe.js'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const main = `import { getCompileCacheDir } from 'node:module'
export const main = async () => (process.stdout.write(String(getCompileCacheDir())), 0)`
    await writeFile(join(folder, 'dist', 'cli', 'main.js'), main)
  })
  after(() => rm(folder, { recursive: true }))

  async function cacheFolder(): Promise<string> {
    const env = { ...process.env }
    delete env['NODE_COMPILE_CACHE']
    delete env['NODE_DISABLE_COMPILE_CACHE']
    return (await run(process.execPath, [join(folder, 'bin', 'troupe.js')], { env })).stdout
  }

  it('starts without a compile cache when the folder of the package cannot hold one', async () => {
    await writeFile(join(folder, 'node_modules'), '')
    assert.equal(await cacheFolder(), 'undefined')
    await rm(join(folder, 'node_modules'))
  })

  it('keeps the compile cache of the built code in the folder of the package', async () => {
    assert.equal(dirname(await cacheFolder()), join(folder, 'node_modules', '.cache', 'troupe'))
  })
})

/** Returns the files of the built code that package.json or bin name, and the files that these import, in order. */
async function codeOf(folder: string): Promise<string[]> {
  const names = ['index', 'handles', 'mcp', 'pages', 'feature', 'testing', 'client', 'react', 'cli/main']
  const found = new Set(names.map((name) => `dist/${name}.js`))
  for (const path of found) {
    const text = await readFile(join(folder, path), 'utf8')
    for (const [, target = ''] of text.matchAll(/(?:from |import |import\()"(\.[^"]+)"/g)) {
      found.add(posix.join(posix.dirname(path), target))
    }
  }
  return [...found].toSorted()
}

/** The packages that a start loads. Each costs every start its processor time and memory. */
const startPackages: readonly string[] = ['croner', 'ipaddr.js']

interface Loaded {
  readonly packages: readonly string[]
  readonly files: readonly string[]
  /** The modules of Node.js, also internal ones. */
  readonly builtIn: readonly string[]
}

/** Places an empty application beside the built package in `folder`, and returns the folder of both. */
async function placeApplication(folder: string): Promise<string> {
  // Without `src`, which the program would prefer.
  const packed = join(folder, '.tmp', 'packed')
  await mkdir(packed, { recursive: true })
  for (const name of ['bin', 'dist', 'package.json'])
    await cp(join(folder, name), join(packed, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(packed, 'node_modules'), 'junction')
  await writeFile(
    join(packed, 'app.js'),
    `import { troupe } from 'troupe'; export default troupe({ type: 'urn:actingweb:example.com:empty', name: 'Empty' })`,
  )
  return packed
}

/** Serves the application in the folder `packed`, and returns what that process loaded. */
async function loadedToServe(packed: string): Promise<Loaded> {
  await writeFile(
    join(packed, 'loaded.js'),
    `import { registerHooks } from 'node:module'
import { writeFileSync } from 'node:fs'
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.on('exit', () => writeFileSync('loaded.json', JSON.stringify({ loaded, builtIn: process.moduleLoadList })))`,
  )
  const child = execFile(
    process.execPath,
    ['--import', './loaded.js', 'bin/troupe.js', 'dev', '--no-watch', 'app.js'],
    {
      cwd: packed,
      env: { ...process.env, PORT: '0', HOST: '127.0.0.1', NODE_DISABLE_COMPILE_CACHE: '1' },
    },
  )
  let output = ''
  child.stderr?.on('data', (text) => (output += text))
  child.stdout?.on('data', (text) => {
    output += text
    if (String(text).includes('is ready at')) child.kill('SIGTERM')
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  assert.equal(code, 0, output)
  const { loaded, builtIn } = JSON.parse(await readFile(join(packed, 'loaded.json'), 'utf8')) as {
    loaded: string[]
    builtIn: string[]
  }
  const packages = loaded.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])
  return {
    packages: [...new Set(packages)].toSorted(),
    files: loaded.filter((url) => url.includes('/packed/dist/')),
    builtIn: builtIn.map((name) => name.replace('NativeModule ', '')),
  }
}

describe('the release archive', () => {
  let copy = ''
  let packed = ''
  let unpackedSize = 0
  let paths: string[] = []
  before(async () => {
    copy = await mkdtemp(join(tmpdir(), 'troupe-package-'))
    const left = new Set(['node_modules', '.git', 'dist', 'data', '.tmp', 'coverage'])
    await cp(root, copy, { recursive: true, filter: (source) => !left.has(basename(source)) })
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
    // The folder of a release can contain such files.
    await mkdir(join(copy, 'data'))
    await mkdir(join(copy, 'dist'))
    for (const path of ['data/keys', '.env', 'notes.txt', 'dist/old.js']) await writeFile(join(copy, path), 'secret')
    await run(process.execPath, [join(copy, 'tools', 'build.ts')], { cwd: copy })
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--offline', '--ignore-scripts'], {
      cwd: copy,
      shell: process.platform === 'win32',
      env: { ...process.env, npm_config_cache: join(copy, '.tmp', 'npm') },
    })
    const [archive] = JSON.parse(stdout) as [{ unpackedSize: number; files: { path: string }[] }]
    unpackedSize = archive.unpackedSize
    paths = archive.files.map(({ path }) => path)
    packed = await placeApplication(copy)
  })
  after(() => rm(copy, { recursive: true }))

  it('contains exactly the program, its documents, its examples and its license (SUP-03)', async () => {
    const folders = new Set(paths.map((path) => (path.includes('/') ? path.replace(/\/.*/, '/') : path)))
    assert.deepEqual([...folders].toSorted(), [
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin/',
      'dist/',
      'docs/',
      'examples/',
      'package.json',
    ])
    const code = await codeOf(copy)
    for (const path of [
      'dist/cli/main.js',
      'dist/errors.d.ts',
      'dist/store/migrations/0001-initial.sql',
      'dist/LICENSES-of-bundled-packages',
      'dist/commit',
    ]) {
      assert.ok(paths.includes(path), path)
    }
    assert.deepEqual(paths.filter((path) => path.startsWith('dist/') && path.endsWith('.js')).toSorted(), code)
    // The copy has no history.
    assert.equal(await readFile(join(copy, 'dist/commit'), 'utf8'), 'unknown\n')
    for (const path of code) assert.doesNotMatch(await readFile(join(copy, path), 'utf8'), /[^\0-\x7f]/, path)
    for (const path of paths.filter((name) => name.startsWith('dist/') && !name.endsWith('.js'))) {
      const source = path.replace('dist/', 'src/').replace(/\.d\.ts$/, '.ts')
      const isMade = ['dist/LICENSES-of-bundled-packages', 'dist/commit'].includes(path)
      assert.ok(existsSync(join(root, source)) || isMade, path)
      assert.ok(!path.endsWith('.ts') || path.endsWith('.d.ts'), path)
    }
  })

  it('loads the listed packages, at most twenty files and no `fetch` before it serves an application', async () => {
    const { packages, files, builtIn } = await loadedToServe(packed)
    assert.deepEqual(packages, startPackages)
    assert.ok(files.length > 2 && files.length <= 20, files.join(' '))
    assert.ok(builtIn.includes('http'))
    assert.ok(!builtIn.includes('internal/deps/undici/undici'))
  })

  it('stores the compile cache while it serves, so that a killed process leaves one', async () => {
    const cache = join(packed, 'cache')
    const env = { ...process.env, PORT: '0', HOST: '127.0.0.1', NODE_COMPILE_CACHE: cache }
    const child = execFile(process.execPath, ['bin/troupe.js', 'dev', '--no-watch', 'app.js'], { cwd: packed, env })
    const exited = once(child, 'exit')
    const stored = async (): Promise<string[]> =>
      existsSync(cache) ? (await readdir(cache, { recursive: true })).filter((path) => path.includes(sep)) : []
    // Real time: another process writes the cache.
    while ((await stored()).length === 0 && child.exitCode === null) await setTimeout(20)
    child.kill('SIGKILL')
    assert.deepEqual(await exited, [null, 'SIGKILL'])
  })

  it('installs at most 40 MB with its dependencies, and no Node.js', async () => {
    const packages = installedWithThePackage()
    assert.ok(packages.includes('node_modules/pg') && packages.includes('node_modules/pg-protocol'))
    for (const name of Object.keys(runtime.optionalDependencies ?? {})) {
      assert.ok(!packages.includes(`node_modules/${name}`), name)
    }
    let bytes = unpackedSize
    for (const path of packages) bytes += await sizeOf(join(root, path))
    assert.ok(bytes > 10_000_000 && bytes <= 40_000_000, `${bytes} bytes`)
  })

  it('contains every file that package.json exports', () => {
    const targets = Object.values(project.exports ?? {}).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : [entry['types'] ?? '', entry['default'] ?? ''],
    )
    assert.equal(targets.length, 17)
    for (const target of targets) assert.ok(paths.includes(target.replace('./', '')), target)
  })

  it('contains every file that its pages link to', async () => {
    let links = 0
    for (const page of paths.filter((path) => path.endsWith('.md'))) {
      for (const [, target = ''] of (await readFile(join(root, page), 'utf8')).matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)) {
        if (/^(https?|mailto):/.test(target)) continue
        links += 1
        const linked = posix.join(posix.dirname(page), target)
        const isThere = paths.some((path) => path === linked || path.startsWith(`${linked}/`))
        assert.ok(isThere, `${page} links to ${target}, which the archive does not contain`)
      }
    }
    assert.ok(links > 50)
  })
})
