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
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { bundle } from '../../tools/bundle.ts'
import { buildImage, type Image } from '../support/dockerfile.ts'
import { freePort } from '../support/free-port.ts'
import { sharedPostgresUrl } from '../support/postgres.ts'
import { environmentWithoutSettings } from '../support/program.ts'
import { createPostgresDatabase } from '../support/stores.ts'
import { until } from '../support/until.ts'

const root = dirname(dirname(import.meta.dirname))
const node = process.execPath

interface StartedImage {
  readonly child: ChildProcess
  readonly env: NodeJS.ProcessEnv
}

/** The block of commands of docs/deploy.md that contains a command. */
function commandsOf(command: string): string {
  const page = readFileSync(join(root, 'docs', 'deploy.md'), 'utf8')
  const blocks = [...page.matchAll(/^```sh\n([^`]*)^```$/gm)].map(([, block = '']) => block)
  const found = blocks.find((block) => block.split('\n').includes(command))
  assert.ok(found, command)
  return found
}

describe('the image of a new project', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-image-'))
  const project = join(folder, 'club')
  const env: NodeJS.ProcessEnv = {
    ...environmentWithoutSettings(),
    PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}`,
    // Nothing comes from an earlier installation.
    npm_config_cache: join(folder, 'cache'),
    npm_config_ignore_scripts: 'true',
    npm_config_omit: 'optional',
    // A request to the registry that hangs is sent again, before the run takes the file for stuck.
    npm_config_fetch_timeout: '30000',
    npm_config_fetch_retries: '5',
    npm_config_fetch_retry_mintimeout: '1000',
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
    run('sh', ['-ec', commandsOf('npx troupe new .')], copy)
    rmSync(copy, { recursive: true })
    // A project has such files beside its code.
    for (const name of [
      '.env',
      '.env.local',
      'server.key',
      'data/troupe.db',
      'backups/2026-11-28T03-00-00Z/backup.json',
    ])
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
    for (const name of ['data', 'backups']) assert.deepEqual(readdirSync(join(image.root, name)), [])
    assert.equal(image.user, '1000')
  })

  /** Starts the command of the image as the first process where the machine allows it. */
  async function start(port: number, more: Readonly<Record<string, string>> = {}): Promise<StartedImage> {
    const within = {
      PATH: env['PATH'],
      ...image.env,
      PORT: String(port),
      HOST: '127.0.0.1',
      DATABASE_URL: image.env['DATABASE_URL']?.replace('/data', join(image.root, 'data')),
      // The health check asks below the path.
      BASE_URL: 'https://club.example.com/rowing/',
      ...(more['TROUPE_SECRET_KEYS_FILE'] === undefined && {
        TROUPE_SECRET_KEYS: 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E',
      }),
      ...more,
    }
    const { pathname } = new URL(within.BASE_URL)
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
      return fetch(`http://127.0.0.1:${port}${pathname}health/ready`).then(
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

  it('serves with the secrets of docs/deploy.md, the settings of compose and PostgreSQL', async (t) => {
    run('sh', ['-ec', commandsOf('mkdir -m 700 deploy/secrets')], project)
    assert.equal(statSync(join(project, 'deploy/secrets')).mode & 0o777, 0o700)
    const database = await createPostgresDatabase(await sharedPostgresUrl())
    t.after(() => database.remove())
    // Compose mounts the files there. The name of the server leads to it only within compose.
    const mounted = join(image.root, 'run/secrets')
    cpSync(join(project, 'deploy/secrets'), mounted, { recursive: true })
    chmodSync(mounted, 0o755)
    assert.match(
      readFileSync(join(mounted, 'database_url'), 'utf8'),
      /^postgres:\/\/troupe:[0-9a-f]{48}@postgres:5432\/troupe\n$/,
    )
    rmSync(join(mounted, 'database_url'))
    writeFileSync(join(mounted, 'database_url'), `${database.url}\n`)
    const compose = parse(readFileSync(join(project, 'deploy/compose.yaml'), 'utf8'), { merge: true }) as {
      readonly services: { readonly troupe: { readonly environment: Readonly<Record<string, string>> } }
    }
    const settings = Object.entries(compose.services.troupe.environment).map(([name, value]) => [
      name,
      value.startsWith('/') ? join(image.root, value) : value,
    ])
    const port = await freePort()
    const { child } = await start(port, {
      ...(Object.fromEntries(settings) as Record<string, string>),
      BASE_URL: 'https://club.example.com/',
      HOST: '127.0.0.1',
      PORT: String(port),
    })
    const metrics = async (token: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status
    const token = readFileSync(join(mounted, 'metrics_token'), 'utf8').trim()
    assert.deepEqual([await metrics(token), await metrics('wrong')], [200, 401])
    const ended = once(child, 'exit')
    process.kill(serviceOf(child), image.stopSignal)
    assert.deepEqual(await ended, [0, null])
  })
})

function writeIn(folder: string, name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}
