import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCompiler } from '../../tools/compiler.ts'
import { type Ending, environmentWithoutSettings, Workplace } from '../support/program.ts'

const root = dirname(dirname(import.meta.dirname))

interface PackageFile {
  readonly name: string
  readonly type: string
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

describe('troupe new', () => {
  const place = new Workplace()
  after(() => place.remove())
  const read = (path: string): string => readFileSync(place.path(path), 'utf8')
  const packageOf = (folder: string): PackageFile => JSON.parse(read(`${folder}/package.json`)) as PackageFile

  // test/stories/new-project-image.test.ts makes a project with a real archive.
  const archive = place.write('troupe-1.2.3.tgz', 'an archive')
  const make = (folder: string): Promise<Ending> => place.run(['new', folder, '--archive', archive])

  /** The errors of the compiler about the files of the project, with the options of the project. */
  function typeErrors(): string[] {
    const options = ['--customConditions', 'troupe-source', '--typeRoots', join(root, 'node_modules', '@types')]
    // The sources of Troupe are checked once.
    const known = ['--incremental', '--tsBuildInfoFile', place.path('known.tsbuildinfo')]
    const { output } = runCompiler([...options, ...known], place.path('My app'))
    return output.split('\n').filter((line) => /^[\w.-]+\.ts\(/.test(line))
  }

  it('makes a project whose tests pass and whose types fit', async () => {
    const { code, stdout, stderr } = await make('My app')
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(stdout, 'The project is in My app. Next:\n  cd My app\n  npm install\n  npm run dev\n')
    assert.deepEqual(readdirSync(place.path('My app')).toSorted(), [
      '.dockerignore',
      '.gitignore',
      'Dockerfile',
      'README.md',
      'app.test.ts',
      'app.ts',
      'deploy',
      'package.json',
      'tsconfig.json',
      'vendor',
    ])
    assert.equal(read('My app/vendor/troupe-1.2.3.tgz'), 'an archive')
    const { name, type, scripts, dependencies, devDependencies } = packageOf('My app')
    assert.deepEqual([name, type, scripts['dev']], ['my-app', 'module', 'troupe dev app.ts'])
    assert.deepEqual(
      [...Object.keys(dependencies), ...Object.keys(devDependencies)],
      ['zod', 'troupe', '@types/node', 'typescript'],
    )
    const { troupe, ...others } = { ...dependencies, ...devDependencies }
    assert.equal(troupe, 'file:vendor/troupe-1.2.3.tgz')
    for (const version of Object.values(others)) assert.match(version, /^\^?\d+\.\d+\.\d+$/)
    const tests = spawnSync(process.execPath, ['--conditions=troupe-source', '--test', 'app.test.ts'], {
      cwd: place.path('My app'),
      env: environmentWithoutSettings(),
      encoding: 'utf8',
    })
    assert.equal(tests.status, 0, tests.stdout)
    assert.match(tests.stdout, /^. pass 2$/m)
    assert.deepEqual(typeErrors(), [])
    place.write('My app/wrong.ts', "export const port: number = 'http'\n")
    assert.deepEqual(typeErrors(), ["wrong.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'."])
  })

  it('is served by troupe dev', async () => {
    await make('served')
    const program = place.start(['dev', '--no-watch', join('served', 'app.ts')], {
      env: { PORT: '0', HOST: '127.0.0.1' },
    })
    const [, url = ''] = await program.prints(/(http:\/\/[^\s]+:\d+)/)
    assert.equal((await fetch(`${url}/health/ready`)).status, 200)
    program.signal('SIGTERM')
    assert.equal((await program.ended).code, 0)
  })

  it('keeps the package.json of the folder, and adds what is missing', async () => {
    place.write(
      'kept/package.json',
      '{"name":"mine","scripts":{"test":"vitest"},"dependencies":{"troupe":"file:../troupe/x.tgz"}}',
    )
    assert.equal((await make('kept')).code, 0)
    const { name, scripts, dependencies } = packageOf('kept')
    assert.deepEqual([name, scripts['test'], scripts['start']], ['mine', 'vitest', 'troupe serve app.ts'])
    assert.deepEqual([dependencies['troupe'], dependencies['zod']], ['file:vendor/troupe-1.2.3.tgz', '4.6.7'])
  })

  it('replaces the test script of npm init, which only fails', async () => {
    place.write('fresh/package.json', '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}')
    assert.equal((await make('fresh')).code, 0)
    assert.equal(packageOf('fresh').scripts['test'], 'node --test')
  })

  it('replaces no file, and makes nothing from wrong arguments', async () => {
    place.write('taken/app.ts', 'mine')
    place.write('broken/package.json', '{')
    for (const [args, message] of [
      [['new'], 'Name the folder of the new project: troupe new my-app.\n'],
      [['new', 'one', 'two'], 'Name the folder of the new project: troupe new my-app.\n'],
      [['new', 'taken'], 'Cannot make a project in taken: app.ts exists. Choose a new folder.\n'],
      [
        ['new', 'one', '--archive', 'none.tgz'],
        'Cannot make a project: none.tgz is not an archive of Troupe, such as troupe-1.0.0.tgz. `npm run package` makes one.\n',
      ],
    ] as const) {
      const { code, stdout, stderr } = await place.run(args)
      assert.deepEqual([code, stdout, stderr], [1, '', message])
    }
    assert.match(
      (await place.run(['new', 'broken'])).stderr,
      /^Cannot make a project: .*package\.json is not JSON\.\n$/,
    )
    assert.equal(read('taken/app.ts'), 'mine')
    for (const path of ['one', 'taken/Dockerfile', 'broken/app.ts']) assert.ok(!existsSync(place.path(path)), path)
  })
})
