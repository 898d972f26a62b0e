import assert from 'node:assert/strict'
import { sourceArguments } from '../support/joined-files.ts'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { github } from '../../src/index.ts'
import { sqliteService, type TestService } from '../support/service.ts'
import { Workplace } from '../support/program.ts'

const start = sqliteService()

/** Returns the URL at which the browser signs in. */
async function providerOf(service: TestService): Promise<URL> {
  const answer = await service.request('/oauth/login/local')
  assert.equal(answer.status, 302, await answer.text())
  return new URL(answer.headers.get('location') ?? '')
}

const isUp = (url: URL): Promise<boolean> =>
  fetch(new URL('/jwks', url)).then(
    (answer) => answer.ok,
    () => false,
  )

describe('the local provider', () => {
  it('is offered only when no provider is configured (R-OC-03)', async () => {
    const names = async (options: Parameters<typeof start>[0]): Promise<string[]> => {
      const service = await start(options)
      return service.app.running().then(({ parts }) => parts.providers.all.map(({ name }) => name))
    }
    assert.deepEqual(await names({ localSignIn: true }), ['local'])
    assert.deepEqual(await names({ localSignIn: false }), [])
    assert.deepEqual(await names({ localSignIn: true, signIn: [github({ clientId: 'a', clientSecret: 'b' })] }), [
      'github',
    ])
  })

  it('is found only by its name and the names of its platforms (IDP-15)', async () => {
    const { parts } = await (await start({ localSignIn: true })).app.running()
    for (const name of ['local-mobile', 'local-native']) assert.equal(parts.providers.find(name)?.kind, 'local')
    for (const name of ['local-mobilex', 'local-mobile-native', 'LOCAL', 'google', ''])
      assert.equal(parts.providers.find(name), null)
  })

  it('starts on loopback with the first sign-in, once, and stops with the service', async () => {
    const service = await start({ localSignIn: true })
    const { parts } = await service.app.running()
    assert.equal(parts.providers.all[0]?.authorizationEndpoint, '')
    const [first, second] = await Promise.all([providerOf(service), providerOf(service)])
    assert.equal(first.hostname, '127.0.0.1')
    assert.equal(first.origin, second.origin)
    assert.equal(await isUp(first), true)
    await service.close()
    assert.equal(await isUp(first), false)
  })

  it('has its own port in every service', async () => {
    const services = await Promise.all([start({ localSignIn: true }), start({ localSignIn: true })])
    const [one, other] = await Promise.all(services.map(providerOf))
    assert.notEqual(one?.port, other?.port)
  })

  it('publishes its address (R-OC-03)', async () => {
    const service = await start({ localSignIn: true })
    const answer = await service.request('/oauth/config')
    const { oauth_providers: providers } = (await answer.json()) as { oauth_providers: Record<string, string>[] }
    assert.equal(providers.length, 1)
    const { name, display_name, response_mode, platform, authorization_endpoint } = providers[0] ?? {}
    assert.deepEqual([name, display_name, response_mode, platform], ['local', 'local sign-in', 'query', 'web'])
    assert.match(authorization_endpoint ?? '', /^http:\/\/127\.0\.0\.1:\d+\/auth$/)
  })

  it('responds only to its own host name, whatever name resolves to its port', async () => {
    const { origin } = await providerOf(await start({ localSignIn: true }))
    const { statusCode } = await (await import('undici')).request(`${origin}/.well-known/openid-configuration`, {
      headers: { host: 'evil.example' },
    })
    assert.equal(statusCode, 421)
  })

  it('redirects a browser only to the service', async () => {
    const url = await providerOf(await start({ localSignIn: true }))
    url.searchParams.set('redirect_uri', 'https://evil.example/')
    const answer = await fetch(url, { redirect: 'manual' })
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /invalid_redirect_uri/)
  })

  it('reports a choice that has expired', async () => {
    const { origin } = await providerOf(await start({ localSignIn: true }))
    for (const method of ['GET', 'POST']) {
      const answer = await fetch(`${origin}/interaction/gone`, { method })
      assert.equal(answer.status, 400)
      assert.match(await answer.text(), /This sign-in has expired/)
    }
  })
})

describe('the troupe program', () => {
  let place: Workplace
  beforeEach(() => {
    place = new Workplace()
    place.write('app.ts', "import { troupe } from 'troupe'\nexport default troupe({ type: 'urn:x' })\n")
    // Prints which modules of the local provider are loaded.
    place.write(
      'watch.mjs',
      `import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    if (url.includes('/node_modules/oidc-provider/')) process.stdout.write('loaded ' + url.split('/').at(-1) + '\\n')
    return next(url, context)
  },
})
`,
    )
  })
  afterEach(() => place.remove())
  const nodeArgs = [...sourceArguments(), '--import', './watch.mjs']
  const ready = /is ready at (http:\/\/localhost:\d+)/

  it('loads the local provider only for a sign-in, and prints none of its output', async () => {
    const program = place.start(['dev', 'app.ts'], { env: { PORT: '0' }, nodeArgs })
    const [, url = ''] = await program.prints(ready)
    assert.equal((await fetch(url)).status, 200)
    const provider = await fetch(`${url}/oauth/login/local`, { redirect: 'manual' })
    assert.match(provider.headers.get('location') ?? '', /^http:\/\/127\.0\.0\.1:/)
    await program.prints(/loaded provider\.js/)
    program.signal('SIGTERM')
    const { code, stdout, stderr } = await program.ended
    assert.equal(code, 0)
    assert.ok(stdout.indexOf('is ready at') < stdout.indexOf('loaded '))
    assert.equal(stderr, '')
    assert.equal(/warning|notice|unsupported/i.test(stdout), false)
  })

  it('does not load the local provider with a configured provider, nor in production', async () => {
    for (const [command, env] of [
      [
        'dev',
        {
          TROUPE_PROVIDERS: 'github',
          TROUPE_PROVIDER_GITHUB_CLIENT_ID: 'a',
          TROUPE_PROVIDER_GITHUB_CLIENT_SECRET: 'very-secret',
        },
      ],
      [
        'serve',
        {
          BASE_URL: 'http://localhost:1',
          TROUPE_ALLOW_HTTP: '1',
          TROUPE_SECRET_KEYS: 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E',
        },
      ],
    ] as const) {
      const program = place.start([command, 'app.ts'], { env: { PORT: '0', ...env }, nodeArgs })
      const [, port = ''] = await program.prints(
        command === 'dev' ? /is ready at http:\/\/localhost:(\d+)/ : /listening at http:\/\/localhost:(\d+)/,
      )
      assert.equal((await fetch(`http://localhost:${port}/oauth/config`)).status, 200)
      assert.notEqual((await fetch(`http://localhost:${port}/oauth/login/local`, { redirect: 'manual' })).status, 302)
      program.signal('SIGTERM')
      const { code, stdout, stderr } = await program.ended
      assert.equal(code, 0)
      assert.equal(stdout.includes('loaded '), false)
      assert.equal(`${stdout}${stderr}`.includes('very-secret'), false)
    }
  })

  it('refuses production with the local provider, in one sentence', async () => {
    const { code, stderr } = await place.run(['serve', 'app.ts'], {
      env: {
        BASE_URL: 'https://notes.example.com',
        TROUPE_SECRET_KEYS: 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E',
        TROUPE_LOCAL_SIGN_IN: '1',
      },
    })
    assert.equal(code, 1)
    assert.equal(stderr, 'TROUPE_LOCAL_SIGN_IN cannot be on in production: it lets anyone sign in as any person.\n')
  })

  it('refuses a provider that lacks a setting, in one sentence (R-OC-15)', async () => {
    const { code, stderr } = await place.run(['dev', 'app.ts'], {
      env: { PORT: '0', TROUPE_PROVIDERS: 'google', TROUPE_PROVIDER_GOOGLE_CLIENT_ID: 'id' },
    })
    assert.equal(code, 1)
    assert.equal(
      stderr,
      'The provider google needs clientSecret: give it in code, or as TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET.\n',
    )
  })
})
