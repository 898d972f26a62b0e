/** The project that `troupe new` makes, from the packed archive to its image. npm gets the packages from the registry. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { bundle } from '../../tools/bundle.ts'
import { buildImage, type Image } from '../support/dockerfile.ts'
import { freePort } from '../support/free-port.ts'
import { environmentWithoutSettings } from '../support/program.ts'
import { until } from '../support/until.ts'

const root = dirname(dirname(import.meta.dirname))
const node = process.execPath

describe('the image of a new project', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-image-'))
  const project = join(folder, 'club')
  const env: NodeJS.ProcessEnv = {
    ...environmentWithoutSettings(),
    PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}`,
    // Nothing comes from an earlier installation.
    npm_config_cache: join(folder, 'cache'),
  }
  const started: ChildProcess[] = []
  let image: Image

  /** Runs a program to its end. */
  function run(program: string, args: readonly string[], cwd: string): string {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' })
    assert.equal(status, 0, `${program} ${args.join(' ')}\n${stdout}\n${stderr}`)
    return stdout
  }

  before(async () => {
    // Other users run the image.
    chmodSync(folder, 0o755)
    const copy = join(folder, 'troupe')
    const left = new Set(['node_modules', '.git', 'dist', 'data', 'test', 'coverage', 'bench'])
    cpSync(root, copy, { recursive: true, filter: (source) => !left.has(basename(source)) })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
    // test/rules/supply-chain.test.ts makes the types too.
    await bundle(copy, join(copy, 'dist'))
    run('npm', ['pack', '--ignore-scripts', '--silent'], copy)
    // The steps of README.md: the package is installed, and its command makes the project.
    mkdirSync(project)
    // npm init writes such a script.
    writeIn(
      project,
      'package.json',
      '{"name":"club","scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}',
    )
    run('npm', ['install', ...archivesIn(copy), '--ignore-scripts', '--omit=optional'], project)
    rmSync(copy, { recursive: true })
    run('npx', ['troupe', 'new', '.'], project)
    run('npm', ['install', '--ignore-scripts'], project)
    // A project has such files beside its code.
    for (const name of ['.env', '.env.local', 'server.key', 'data/troupe.db'])
      writeIn(project, name, 'TROUPE_SECRET_KEYS=secret')
    mkdirSync(join(project, '.git'))
    writeIn(project, '.git/config', 'url = https://user:secret@git.example.com')
    image = buildImage(project, { folder: join(folder, 'image'), env })
  })
  after(async () => {
    for (const child of started) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  function archivesIn(place: string): string[] {
    return readdirSync(place)
      .filter((name) => name.endsWith('.tgz'))
      .map((name) => join(place, name))
  }

  it('is built from the archive in the project, and not from a name in a registry', () => {
    const [archive = ''] = archivesIn(join(project, 'vendor'))
    const { dependencies, scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
      readonly scripts: Readonly<Record<string, string>>
    }
    assert.equal(dependencies['troupe'], `file:vendor/${basename(archive)}`)
    assert.equal(scripts['test'], 'node --test')
    assert.match(run('npm', ['test'], project), /^. pass 2$/m)
  })

  it('contains the application, and no secret, history, data or test', () => {
    assert.deepEqual(readdirSync(join(image.root, image.workdir)).toSorted(), [
      'app.ts',
      'node_modules',
      'package-lock.json',
      'package.json',
      'tsconfig.json',
    ])
    assert.deepEqual(readdirSync(join(image.root, 'data')), [])
    assert.equal(image.user, '1000')
  })

  /** Starts the command of the image as the first process where the machine allows it. */
  async function start(port: number): Promise<{ readonly child: ChildProcess; readonly env: NodeJS.ProcessEnv }> {
    const within = {
      PATH: env['PATH'],
      ...image.env,
      PORT: String(port),
      HOST: '127.0.0.1',
      DATABASE_URL: image.env['DATABASE_URL']?.replace('/data', join(image.root, 'data')),
      // The health check asks below the path.
      BASE_URL: 'https://club.example.com/rowing/',
      TROUPE_SECRET_KEYS: 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E',
    }
    const user = ['--setuid', image.user, '--setgid', image.user]
    const isolated = ['--pid', '--fork', '--kill-child', ...user]
    const canIsolate = spawnSync('unshare', [...isolated, 'true']).status === 0
    const [program = '', ...args] = [...(canIsolate ? ['unshare', ...isolated] : []), ...image.command]
    const child = spawn(program, args, { cwd: join(image.root, image.workdir), env: within, stdio: 'pipe' })
    started.push(child)
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    await until(async () => {
      assert.equal(child.exitCode, null, said)
      return fetch(`http://127.0.0.1:${port}/rowing/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    })
    return { child, env: within }
  }

  /** The process of the service: the only child of `unshare`, or the child itself. */
  function serviceOf({ pid = 0, spawnfile }: ChildProcess): number {
    if (spawnfile !== 'unshare') return pid
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))
  }

  it('serves as another user, is healthy, and answers a running request when it is stopped', async () => {
    const port = await freePort()
    const service = await start(port)
    const isHealthy = (): boolean => {
      const [program = '', ...args] = image.healthCheck
      return spawnSync(program, args, { env: service.env }).status === 0
    }
    assert.ok(isHealthy())
    const body = JSON.stringify({ redirect_uris: ['https://client.example.com/callback'] })
    const answered = Promise.withResolvers<number>()
    const running = request(
      `http://127.0.0.1:${port}/rowing/oauth/register`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' },
      },
      (response) => {
        response.resume().on('end', () => answered.resolve(response.statusCode ?? 0))
      },
    ).on('error', answered.reject)
    // The service has the request when it asks for the body.
    const asked = once(running, 'continue')
    running.flushHeaders()
    await asked
    running.write(body.slice(0, 10))
    const ended = once(service.child, 'exit')
    process.kill(serviceOf(service.child), image.stopSignal)
    await until(async () => !isHealthy())
    running.end(body.slice(10))
    assert.equal(await answered.promise, 201)
    assert.deepEqual(await ended, [0, null])
  })
})

function writeIn(folder: string, name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}
