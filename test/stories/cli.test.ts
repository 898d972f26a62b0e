import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { createPostgresDatabase } from '../support/stores.ts'
import { sharedPostgresUrl } from '../support/postgres.ts'
import { assertRefused, createActor, free, key, place, placeForEachTest, plain, start } from '../support/cli.ts'

placeForEachTest()

describe('troupe', () => {
  it('lists its commands for --help and without arguments', async () => {
    const help = await place.run(['--help'])
    assert.equal(help.code, 0)
    assert.equal(help.stderr, '')
    for (const command of [
      'dev <module>',
      'serve <module>',
      'doctor',
      'keys new',
      'keys rotate',
      'migrate-data <module>',
      '--help, --version',
    ]) {
      assert.ok(help.stdout.includes(`troupe ${command}`), command)
    }
    for (const args of [[], ['help'], ['-h']]) assert.deepEqual(await place.run(args), help)
  })

  it('describes a command for --help, and does nothing else', async () => {
    for (const [command, begins] of [
      ['dev', 'troupe dev <module> [--no-watch]\n'],
      ['serve', 'troupe serve <module>\n'],
      ['doctor', 'troupe doctor [deep]\n'],
      ['keys', 'troupe keys new '],
      ['compact', 'troupe compact [full]\n'],
      ['redrive', 'troupe redrive [actor [peer [subscription]]]\n'],
      ['migrate-data', 'troupe migrate-data <module> '],
    ] as const) {
      const { code, stdout, stderr } = await place.run([command, '--help'])
      assert.deepEqual([code, stderr], [0, ''], command)
      assert.ok(stdout.startsWith(begins), command)
      assert.deepEqual(await place.run([command, 'rotate', '-h']), { code, signal: null, stdout, stderr })
    }
  })

  it('finishes its work when the reader of its output has ended', async () => {
    const program = place.start(['--help'])
    program.process.stdout?.destroy()
    const { code, stderr } = await program.ended
    assert.deepEqual([code, stderr], [0, ''])
  })

  it('prints its version and commit', async () => {
    const { version } = JSON.parse(readFileSync(`${import.meta.dirname}/../../package.json`, 'utf8')) as {
      version: string
    }
    for (const args of [['--version'], ['-v'], ['version']]) {
      const { stdout, ...ending } = await place.run(args)
      assert.deepEqual(ending, { code: 0, signal: null, stderr: '' })
      assert.match(stdout, /^\d+\.\d+\.\d+ \(commit (?:[0-9a-f]{40}|unknown)\)\n$/)
      assert.ok(stdout.startsWith(`${version} `))
    }
  })

  it('refuses unknown commands and arguments in one sentence', async () => {
    const refusals: [args: string[], sentence: string][] = [
      [['dance'], 'Unknown command "dance": troupe --help lists the commands.'],
      [['constructor'], 'Unknown command "constructor": troupe --help lists the commands.'],
      [['dev'], 'Cannot run troupe dev: expected one module, as in troupe dev app.ts'],
      [['serve', 'app.ts', 'b.ts'], 'Cannot run troupe serve: expected one module, as in troupe serve app.ts'],
      [['dev', '--watch', 'app.ts'], 'Unknown option --watch of troupe dev: troupe dev --help lists the options.'],
      [['doctor', 'now'], 'Cannot run troupe doctor: expected the URL of a service, deep, address or no argument.'],
      [['keys'], 'Cannot run troupe keys: expected new, rotate or forget.'],
      [['migrate-data'], 'Cannot run troupe migrate-data: expected one module, and plan for a dry run.'],
      [
        ['migrate-data', 'app.ts', 'now'],
        'Cannot run troupe migrate-data: expected one module, and plan for a dry run.',
      ],
      [['keys', 'old'], 'Cannot run troupe keys: expected new, rotate or forget.'],
    ]
    for (const [args, sentence] of refusals) assertRefused(await place.run(args, { env: free }), sentence)
    assert.equal(existsSync(place.path('data')), false)
  })

  it('refuses a Node.js that is too old, in one sentence', async () => {
    const disguise = place.write(
      'old.mjs',
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '24.15.0' } })\n",
    )
    const ending = await place.run(['--help'], { nodeArgs: ['--import', disguise] })
    assertRefused(ending, 'Troupe needs Node.js 24.16 or newer; this is 24.15.0.')
    for (const node of ['/usr/bin/node', '/usr/local/bin/node'].filter((path) => existsSync(path))) {
      const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)
      if (Number(version.split('.')[0]) >= 24) continue
      const old = await place.run(['dev', 'app.ts'], { node, nodeArgs: [] })
      assertRefused(old, `Troupe needs Node.js 24.16 or newer; this is ${version}.`)
    }
  })
})

describe('troupe doctor address', () => {
  it('finds the running service at its address, and says so when nothing answers there', async () => {
    const { program, url } = await start(['dev', 'app.ts'])
    const env = { TROUPE_MODE: 'development', BASE_URL: url }
    const found = await place.run(['doctor', 'address'], { env })
    assert.deepEqual(found, { code: 0, signal: null, stdout: `${url} leads to this service.\n`, stderr: '' })
    const other = await place.run(['doctor', 'address'], { env: { ...env, TROUPE_SECRET_KEYS: key } })
    assertRefused(
      other,
      `Another Troupe service answers at ${url}: it has other keys, or another BASE_URL. Correct BASE_URL, or run this command with its TROUPE_SECRET_KEYS.`,
    )
    program.signal('SIGTERM')
    await program.ended
    assertRefused(
      await place.run(['doctor', 'address'], { env }),
      `Cannot reach ${url}: nothing accepts connections at ${new URL(url).host}. Start the service and its proxy, or correct BASE_URL.`,
    )
  })
})

describe('troupe dev', () => {
  it('prints the address of the application, the next steps and the place of its data', async () => {
    const { program, url } = await start(['dev', 'app.ts'])
    program.signal('SIGINT')
    const { stdout, stderr } = await program.ended
    assert.equal(stderr, '')
    assert.equal(
      stdout,
      `
  plain is ready at ${url}   (development mode)

  Sign in             ${url}/   (local sign-in)
  Connect an AI app   ${url}/mcp
  Write a program     ${url}/openapi.json
  Try it with curl    curl ${url}/ --json '{"creator":"you@example.com"}'

  Data is stored in ./data/troupe.db. Ctrl-C stops the service.


Stopping: waiting for running requests.
Stopped.
`,
    )
  })

  it('responds as soon as it prints its address, on every address of localhost', async () => {
    const { url } = await start(['dev', 'app.ts'])
    assert.match(url, /^http:\/\/localhost:\d+$/)
    const port = new URL(url).port
    const addresses = ['localhost', '127.0.0.1', ...(hasIpv6() ? ['[::1]'] : [])]
    for (const address of addresses) {
      const answer = await fetch(`http://${address}:${port}/`)
      assert.equal(answer.status, 200, address)
    }
  })

  it('makes data and key readable only for their owner, and uses them again (OPS-09)', async () => {
    const first = await start(['dev', 'app.ts'])
    const { id, authorization } = await createActor(first.url)
    first.program.signal('SIGTERM')
    assert.equal((await first.program.ended).code, 0)
    for (const [file, mode] of [
      ['data', 0o700],
      ['data/troupe.db', 0o600],
      ['data/development.key', 0o600],
    ] as const) {
      assert.equal(statSync(place.path(file)).mode & 0o777, mode, file)
    }
    const second = await start(['dev', 'app.ts'])
    assert.equal((await fetch(`${second.url}/${id}`, { headers: { authorization } })).status, 200)
  })

  it('refuses a module that it cannot serve, in one sentence', async () => {
    const at = (name: string): string => place.path(name)
    place.write('nothing.ts', 'export const app = 1\n')
    place.write('other.ts', 'export default { fetch() {} }\n')
    place.write('throws.ts', "\nthrow new Error('The cellar is empty')\n")
    place.write('throws-text.ts', "throw 'just words'\n")
    place.write('wrong.ts', 'const = 1\n')
    place.write('event.ts', `${plain.replace('export default', 'const app =')}\napp.on('born', () => null)\n`)
    place.write('imports.ts', "import 'no-such-package'\n")
    place.write('option.ts', plain.replace("name: 'plain'", 'maxJsonDepth: 1'))
    place.write('typo.ts', plain.replace("name: 'plain'", '...{ prot: 1 }'))
    const refusals: [module: string, sentence: string][] = [
      ['absent.ts', `Cannot load ${at('absent.ts')}: the file does not exist.`],
      [
        'nothing.ts',
        `Cannot run ${at('nothing.ts')}: it must export an application by default: export default troupe({ … })`,
      ],
      [
        'other.ts',
        `Cannot run ${at('other.ts')}: it must export an application by default: export default troupe({ … })`,
      ],
      ['throws.ts', `Cannot load ${at('throws.ts')}: The cellar is empty (${at('throws.ts')}:2)`],
      ['throws-text.ts', `Cannot load ${at('throws-text.ts')}: just words`],
      [
        'imports.ts',
        `Cannot load ${at('imports.ts')}: Cannot find package 'no-such-package' imported from ${at('imports.ts')}`,
      ],
      [
        'event.ts',
        `Cannot load ${at('event.ts')}: Cannot handle event "born": it does not exist. The events are actor_created, actor_deleted, actor_deleted_complete, oauth_success, creator_superseded, email_verification_required, sign_in_link_requested, mail, email_verified, trust_initiated, trust_request_received, trust_fully_approved_local, trust_fully_approved_remote, trust_deleted, subscription_deleted, property_changed, list_changed, file_changed. (${at('event.ts')}:4)`,
      ],
      ['option.ts', 'Option maxJsonDepth must be a whole number from 4 to 512, in levels.'],
      ['typo.ts', 'Unknown option prot: check its spelling in docs/configuration.md, or remove it.'],
    ]
    for (const [module, sentence] of refusals) assertRefused(await place.run(['dev', module], { env: free }), sentence)
    const wrong = await place.run(['dev', 'wrong.ts'], { env: free })
    assert.match(wrong.stderr, /^Cannot load \S+wrong\.ts: .* \(\S+wrong\.ts:1\)\n$/)
    assert.equal(wrong.code, 1)
    assert.equal(existsSync(place.path('data')), false)
  })

  it('refuses an invalid or unknown setting in one sentence that names it (OPS-09)', async () => {
    const refusals: [env: Record<string, string>, sentence: string][] = [
      [{ PORT: 'many' }, 'PORT must be a whole number from 0 to 65535.'],
      [
        { TROUPE_MAX_BODY_BYTES: '12' },
        'TROUPE_MAX_BODY_BYTES must be a whole number from 1024 to 268435456, in bytes.',
      ],
      [
        { TROUPE_DEVTSET: '1' },
        'Unknown environment variable TROUPE_DEVTSET: check its spelling in docs/configuration.md, or remove it.',
      ],
      [{ TROUPE_MODE: 'test' }, 'TROUPE_MODE must be one of development, production.'],
      [{ BASE_URL: 'ftp://example.com' }, 'BASE_URL must be an http or https URL.'],
      [{ DATABASE_URL: 'mysql://db' }, 'DATABASE_URL must be sqlite:<file> or postgres://<user>@<host>/<database>.'],
      [
        { TROUPE_SECRET_KEYS: 'secret' },
        'Cannot use TROUPE_SECRET_KEYS: Entry 1 of the key ring has no ":" between id and key.',
      ],
    ]
    for (const [env, sentence] of refusals) {
      assertRefused(await place.run(['dev', 'app.ts'], { env: { ...free, ...env } }), sentence)
    }
    assert.equal(existsSync(place.path('data')), false)
  })

  it('refuses a port that is in use on either address of localhost, in one sentence', async () => {
    for (const host of ['127.0.0.1', ...(hasIpv6() ? ['::1'] : [])]) {
      const other = createServer().listen(0, host)
      await once(other, 'listening')
      const { port } = other.address() as { port: number }
      const ending = await place.run(['dev', 'app.ts'], { env: { PORT: String(port) } })
      other.close()
      assertRefused(
        ending,
        `Cannot listen on port ${port} of localhost: another program uses it; choose another with PORT.`,
      )
    }
  })

  it('refuses a host that is not an address of this machine, in one sentence', async () => {
    const ending = await place.run(['dev', 'app.ts'], { env: { ...free, HOST: '203.0.113.9' } })
    assertRefused(ending, 'Cannot listen on port 0 of 203.0.113.9: HOST is not an address of this machine.')
  })

  it('names the path that it cannot write, in one sentence (OPS-09)', async () => {
    const file = place.write('occupied', '')
    const below = await place.run(['dev', 'app.ts'], {
      env: { ...free, TROUPE_SECRET_KEYS: key, DATABASE_URL: `sqlite:${file}/troupe.db` },
    })
    assertRefused(below, `Cannot create the folder ${file} for the database: a part of the path is not a folder.`)
    const locked = unwritableFolder()
    const data = await place.run(['dev', 'app.ts'], {
      env: { ...free, TROUPE_SECRET_KEYS: key, DATABASE_URL: `sqlite:${locked}/troupe/troupe.db` },
    })
    assertRefused(data, `Cannot create the folder ${locked}/troupe for the database: permission denied.`)
    const keyFile = await place.run(['dev', 'app.ts'], {
      env: { ...free, DATABASE_URL: `sqlite:${locked}/troupe/troupe.db` },
    })
    assert.match(keyFile.stderr, /^The key file \S+development\.key cannot be made \((EPERM|EACCES|EROFS)\)\.\n$/)
    assert.equal(keyFile.code, 1)
  })

  it('names the database that it cannot reach, in one sentence without the password', async () => {
    const ending = await place.run(['dev', 'app.ts'], {
      env: { ...free, DATABASE_URL: 'postgres://troupe:hidden@127.0.0.1:1/troupe' },
    })
    assertRefused(
      ending,
      'Cannot reach the PostgreSQL database "troupe" at 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1.',
    )
  })

  it('refuses data that a newer release wrote, in one sentence, and does not change it (OPS-04)', async () => {
    const { program } = await start(['dev', 'app.ts'])
    program.signal('SIGTERM')
    await program.ended
    const database = new DatabaseSync(place.path('data/troupe.db'))
    database.exec("INSERT INTO schema_migrations VALUES (9999, 'later', '-', 0, '9.8.0')")
    database.close()
    const before = readFileSync(place.path('data/troupe.db'))
    const ending = await place.run(['dev', 'app.ts'], { env: free })
    assert.match(
      ending.stderr,
      /^Cannot use the database: release 9\.8\.0 migrated it to schema 9999 \("later"\), and this release, \d+\.\d+\.\d+, knows schemas up to \d+; nothing was changed\. Start release 9\.8\.0 or a newer one\.\n$/,
    )
    assert.deepEqual([ending.code, ending.stdout], [1, ''])
    assert.deepEqual(readFileSync(place.path('data/troupe.db')), before)
  })
})

describe('troupe serve', () => {
  const production = { TROUPE_SECRET_KEYS: key, BASE_URL: 'https://troupe.example.com' }
  /** Production where programs create actors, although people can sign in. */
  const withCreation = { ...production, TROUPE_OPEN_CREATION: '1' }

  it('refuses to start without a key, without a public address and without https (OPS-09)', async () => {
    const refusals: [env: Record<string, string>, sentence: string][] = [
      [
        {},
        'The settings have 2 problems:\n- TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.\n- BASE_URL is required in production: the public https address of the service.',
      ],
      [
        { BASE_URL: 'https://troupe.example.com' },
        'TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.',
      ],
      [{ TROUPE_SECRET_KEYS: key }, 'BASE_URL is required in production: the public https address of the service.'],
      [
        { TROUPE_SECRET_KEYS: key, BASE_URL: 'http://troupe.example.com' },
        'BASE_URL must begin with https in production, unless TROUPE_ALLOW_HTTP=1 accepts unencrypted traffic.',
      ],
      [{ ...production, TROUPE_DEVTEST: '1' }, 'TROUPE_DEVTEST cannot be on in production: it exposes internal data.'],
      [
        { ...production, TROUPE_SECRET_KEYS: `k1:${'A'.repeat(43)}` },
        'Cannot use TROUPE_SECRET_KEYS: Key "k1" is not random bytes: it is typed text or a guessable pattern.',
      ],
    ]
    for (const [env, sentence] of refusals) {
      assertRefused(await place.run(['serve', 'app.ts'], { env: { ...free, ...env } }), sentence)
    }
    assert.equal(existsSync(place.path('data')), false)
  })

  it('names all that is missing or wrong at once: settings, providers, services, limits and folders', async () => {
    const { code, stdout, stderr } = await place.run(['serve', 'app.ts'], {
      env: {
        ...free,
        TROUPE_SECRET_KEYS: `k1:${'A'.repeat(43)}`,
        TROUPE_PROVIDERS: 'google',
        TROUPE_PROVIDER_GOOGLE_CLIENT_ID: 'id',
        TROUPE_SERVICES: 'drive',
        TROUPE_SERVICE_DRIVE_CLIENT_ID: 'id',
        TROUPE_SERVICE_DRIVE_TOKEN_URL: 'drive.example.com',
        TROUPE_SERVICE_DRIVE_AUTHORIZATION_URL: 'https://drive.example.com/authorize',
        TROUPE_DEFAULT_RELATIONSHIP: 'stranger',
        TROUPE_CLIENT_TRUST_TYPES: 'mcp_client',
        TROUPE_RATE_LIMITS: 'unknown/source=1/1',
        TROUPE_SINGLE_PAGE: 'missing-app',
        TROUPE_TEMPLATES: 'missing-templates',
        TROUPE_ADMINS: 'a..b@example.com',
      },
    })
    assert.deepEqual([code, stdout], [1, ''])
    assert.deepEqual(stderr.split('\n'), [
      'The settings have 10 problems:',
      '- BASE_URL is required in production: the public https address of the service.',
      '- Cannot use TROUPE_DEFAULT_RELATIONSHIP: the trust type "stranger" does not exist. The trust types are admin, api_key, associate, friend, mcp_client, partner, viewer.',
      '- The provider google needs clientSecret: give it in code, or as TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET.',
      '- TROUPE_SERVICE_DRIVE_TOKEN_URL must be an absolute address.',
      '- The service drive needs clientSecret: give it in code, or as TROUPE_SERVICE_DRIVE_CLIENT_SECRET.',
      '- Cannot use TROUPE_RATE_LIMITS: the limiter unknown/source does not exist.',
      '- TROUPE_ADMINS must contain valid addresses: "a..b@example.com" is not one.',
      '- Cannot use TROUPE_SECRET_KEYS: Key "k1" is not random bytes: it is typed text or a guessable pattern.',
      '- Cannot use TROUPE_SINGLE_PAGE: missing-app is not a folder.',
      `- Cannot read the folder of templates ${JSON.stringify(place.path('missing-templates'))}: check TROUPE_TEMPLATES.`,
      '',
    ])
    assert.equal(existsSync(place.path('data')), false)
  })

  it('ignores a mode in the module, because the command decides it (OPS-09)', async () => {
    place.write('app.ts', plain.replace("name: 'plain'", "mode: 'development'"))
    const ending = await place.run(['serve', 'app.ts'], { env: free })
    assertRefused(
      ending,
      'The settings have 2 problems:\n- TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.\n- BASE_URL is required in production: the public https address of the service.',
    )
  })

  it('serves on this machine alone, unless HOST names every address', async () => {
    const [outside] = Object.values(networkInterfaces())
      .flatMap((found) => found ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
    const statuses = async (host: Record<string, string>): Promise<readonly (number | string)[]> => {
      const { program, url } = await start(['serve', 'app.ts'], { ...production, ...host })
      const { port } = new URL(url)
      const answers = await Promise.all(
        ['127.0.0.1', ...(outside === undefined ? [] : [outside.address])].map((address) =>
          fetch(`http://${address}:${port}/health/live`).then(
            ({ status }) => status,
            () => 'refused',
          ),
        ),
      )
      program.signal('SIGTERM')
      await program.ended
      return answers
    }
    const others = (answer: number | string): readonly (number | string)[] => (outside === undefined ? [] : [answer])
    assert.deepEqual(await statuses({}), [200, ...others('refused')])
    assert.deepEqual(await statuses({ HOST: '0.0.0.0' }), [200, ...others(200)])
  })

  it('serves in production without test endpoints and without a key file (OPS-09)', async () => {
    const { program, url } = await start(['serve', 'app.ts'], withCreation)
    assert.match(
      (await program.prints(/^.*\n/))[0],
      /^\{"level":"info","time":"[^"]+","msg":"plain is ready at https:\/\/troupe\.example\.com \(listening at http:\/\/localhost:\d+\)\."\}\n$/,
    )
    const { id, authorization } = await createActor(url)
    const answer = await fetch(`${url}/${id}/devtest/ping`, { headers: { authorization } })
    assert.equal(answer.status, 404)
    assert.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000')
    assert.equal(existsSync(place.path('data/development.key')), false)
    program.signal('SIGTERM')
    assert.equal((await program.ended).code, 0)
    const dev = await start(['dev', 'app.ts'], { TROUPE_SECRET_KEYS: key })
    const open = await fetch(`${dev.url}/${id}/devtest/ping`, { headers: { authorization } })
    assert.equal(open.status, 204)
    assert.equal(open.headers.get('strict-transport-security'), null)
  })

  it('serves without https when TROUPE_ALLOW_HTTP=1 (OPS-09)', async () => {
    const { url } = await start(['serve', 'app.ts'], {
      ...production,
      BASE_URL: 'http://intern.example.com',
      TROUPE_ALLOW_HTTP: '1',
    })
    const answer = await fetch(`${url}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    assert.match(answer.headers.get('location') ?? '', /^http:\/\/intern\.example\.com\/[0-9a-f]{32}$/)
  })

  it('serves with its data on PostgreSQL, and keeps it there', async () => {
    const database = await createPostgresDatabase(await sharedPostgresUrl())
    try {
      const first = await start(['serve', 'app.ts'], { ...withCreation, DATABASE_URL: database.url })
      const { id, authorization } = await createActor(first.url)
      first.program.signal('SIGTERM')
      assert.equal((await first.program.ended).code, 0)
      const second = await start(['serve', 'app.ts'], { ...production, DATABASE_URL: database.url })
      assert.equal((await fetch(`${second.url}/${id}`, { headers: { authorization } })).status, 200)
      second.program.signal('SIGTERM')
      assert.equal((await second.program.ended).code, 0)
      assert.equal(existsSync(place.path('data')), false)
    } finally {
      await database.remove()
    }
  })
})

/** Returns a folder that this user cannot write to. Root can write nearly everywhere, so it gets a folder of the kernel. */
function unwritableFolder(): string {
  if (process.getuid?.() === 0) return '/sys/kernel'
  const folder = place.path('locked')
  mkdirSync(folder, { mode: 0o500 })
  return folder
}

function hasIpv6(): boolean {
  return existsSync('/proc/net/if_inet6') && readFileSync('/proc/net/if_inet6', 'utf8').includes('0000000000000001 ')
}
