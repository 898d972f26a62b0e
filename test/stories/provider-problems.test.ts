/** A start and `troupe doctor` say at which providers people cannot sign in. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { openid } from '../../src/index.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { Workplace } from '../support/program.ts'
import { build } from '../support/providers/configured.ts'

const key = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'
const asymmetric = 'RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519'
const rsa = { kty: 'RSA', n: 'sXch'.repeat(86), e: 'AQAB' }
const p256 = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
}
const ed25519 = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
const shared = { kty: 'oct', k: 'AAAA' }

let real: IdentityProvider
before(async () => {
  real = await startIdentityProvider()
})
after(() => real.close())
afterEach(() => real.answers.clear())

/** Answers in place of the provider. */
function answer(path: string, status: number, body: object | string, headers: Record<string, string> = {}): void {
  real.answers.set(path, (_, response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body)),
  )
}

/** Metadata at a realm of the provider, with other members. */
function realm(name: string, members: Record<string, unknown> = {}): string {
  const issuer = `${real.issuer}/${name}`
  answer(`/${name.replace(/\/$/, '')}/.well-known/openid-configuration`, 200, {
    issuer,
    authorization_endpoint: `${real.issuer}/auth`,
    token_endpoint: `${real.issuer}/token`,
    jwks_uri: `${real.issuer}/${name}/keys`,
    ...members,
  })
  return issuer
}

async function problemOf(issuer: string, settings: object = {}): Promise<string | null> {
  const declared = openid({ name: 'acme', issuer, clientId: 'notes', clientSecret: 'x', ...settings })
  const [problem, ...others] = await build([declared]).providers.problems()
  assert.deepEqual(others, [])
  if (problem !== undefined) assert.equal(problem.provider, 'acme')
  return problem?.reason ?? null
}

describe('a provider at which people cannot sign in', () => {
  it('is named with its reason, and one that works is not (IDP-32)', async () => {
    assert.equal(await problemOf(real.issuer), null)
    assert.equal(await problemOf(real.issuer, { algorithm: 'RS256' }), null)
    assert.equal(
      await problemOf(real.issuer, { algorithm: 'ES256' }),
      `Cannot verify id_tokens of acme: none of its keys at ${real.issuer}/jwks fits ES256.`,
    )
    // Without id_tokens, their algorithms do not matter.
    assert.equal(await problemOf(real.issuer, { algorithm: 'ES256', scope: 'email' }), null)
    for (const [configured, says] of [
      ['realm', 'realm/'],
      ['realm/', 'realm'],
      ['realm', 'other'],
    ] as const) {
      realm(configured, { issuer: `${real.issuer}/${says}` })
      assert.equal(
        await problemOf(`${real.issuer}/${configured}`),
        `Cannot use the issuer ${real.issuer}/${configured}: the provider says that its issuer is ${real.issuer}/${says}. Set exactly that address.`,
      )
    }
    for (const member of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'])
      assert.equal(
        await problemOf(realm('partial', { [member]: undefined })),
        `Cannot use ${real.issuer}/partial: its metadata lacks an endpoint or jwks_uri`,
      )
  })

  it('is recognized by its keys, as the sign-in chooses them (IDP-32)', async () => {
    for (const [keys, members, settings, problem] of [
      [[rsa], {}, {}, null],
      [[rsa, rsa, p256], {}, {}, null],
      [[p256], { id_token_signing_alg_values_supported: ['RS256'] }, {}, null],
      [[ed25519], { id_token_signing_alg_values_supported: [] }, {}, null],
      [[p256], { id_token_signing_alg_values_supported: ['HS256'] }, { algorithm: 'ES256' }, null],
      [[], {}, {}, 'keys'],
      [[shared], {}, {}, 'keys'],
      [[{ ...rsa, use: 'enc' }], {}, {}, 'keys'],
      [[{ ...rsa, alg: 'RSA-OAEP' }], {}, {}, 'keys'],
      [[p256], {}, { algorithm: 'RS256' }, 'keys'],
      [[rsa], { id_token_signing_alg_values_supported: ['HS256', 'none'] }, {}, 'HS256, none'],
    ] as const) {
      const issuer = realm('keys', members)
      answer('/keys/keys', 200, { keys })
      const accepted = 'algorithm' in settings ? settings.algorithm : asymmetric
      const expected =
        problem === 'keys'
          ? `Cannot verify id_tokens of acme: none of its keys at ${issuer}/keys fits ${accepted}.`
          : `Cannot verify id_tokens of acme: the provider signs with ${problem} alone, and the service accepts ${accepted}. Choose one of these at the provider.`
      assert.equal(await problemOf(issuer, settings), problem === null ? null : expected, JSON.stringify(keys))
    }
  })

  it('is one that does not answer, or not with metadata and keys (IDP-32)', async () => {
    const gone = await startIdentityProvider()
    await gone.close()
    assert.match((await problemOf(gone.issuer)) ?? '', /^GET http:\/\/127.*openid-configuration: connect ECONNREFUSED/)
    const issuer = realm('broken')
    for (const path of ['/broken/.well-known/openid-configuration', '/broken/keys'])
      for (const [status, body, headers] of [
        [500, '', {}],
        [404, {}, {}],
        [302, '', { location: 'https://elsewhere.example' }],
        [200, '<!doctype html>', { 'content-type': 'text/html' }],
        [200, 'null', {}],
        [200, '{"keys":1,"issuer":1}', {}],
      ] as const) {
        realm('broken')
        answer('/broken/keys', 200, { keys: [rsa] })
        assert.equal(await problemOf(issuer), null)
        answer(path, status, body, headers)
        assert.equal(typeof (await problemOf(issuer)), 'string', `${path} ${status} ${JSON.stringify(body)}`)
      }
  })
})

describe('the commands', () => {
  let place: Workplace
  beforeEach(() => {
    place = new Workplace()
  })
  afterEach(() => place.remove())

  const variables = (name: string, issuer: string): Record<string, string> => ({
    [`TROUPE_PROVIDER_${name}_ISSUER`]: issuer,
    [`TROUPE_PROVIDER_${name}_CLIENT_ID`]: 'notes',
    [`TROUPE_PROVIDER_${name}_CLIENT_SECRET`]: 'do-not-print',
  })

  it('name each such provider: troupe doctor on its lines, and a start once in its log (IDP-32)', async () => {
    const slash = realm('realm', { issuer: `${real.issuer}/realm/` })
    const env = {
      TROUPE_SECRET_KEYS: key,
      TROUPE_ALLOW_HTTP: '1',
      TROUPE_PROVIDERS: 'acme,broken,google',
      ...variables('ACME', real.issuer),
      ...variables('BROKEN', slash),
    }
    const reason = `Cannot use the issuer ${slash}: the provider says that its issuer is ${slash}/. Set exactly that address.`
    const found = await place.run(['doctor'], { env: { ...env, BASE_URL: 'http://localhost:4999', PORT: '4999' } })
    assert.deepEqual([found.code, found.stderr], [0, ''])
    assert.deepEqual(
      found.stdout.split('\n').filter((line) => line.startsWith('sign-in')),
      [
        'sign-in   google: the application configures it, and its start checks it',
        'sign-in   acme: no problem found',
        `sign-in   broken: ${reason}`,
      ],
    )

    place.write(
      'app.ts',
      `import { google, troupe } from 'troupe'
export default troupe({
  type: 'urn:actingweb:example.com:notes',
  signIn: [google({ clientId: 'notes', clientSecret: 'x' })],
})
`,
    )
    const program = place.start(['serve', 'app.ts'], {
      env: { ...env, TROUPE_MODE: 'development', PORT: '0', DATABASE_URL: `sqlite:${place.path('notes.db')}` },
    })
    const logged = Promise.withResolvers<void>()
    let log = ''
    program.process.stderr?.on('data', (text: string) => {
      log += text
      if (log.includes('People cannot sign in at a provider')) logged.resolve()
    })
    await Promise.race([logged.promise, program.ended])
    program.signal('SIGTERM')
    const { code, stdout, stderr } = await program.ended
    assert.equal(code, 0)
    const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.includes('People cannot sign in'))
    assert.equal(lines.length, 1)
    assert.match(lines[0] ?? '', /^[\d:.]+ WARN {2}People cannot sign in at a provider provider=broken reason=/)
    assert.ok(lines[0]?.endsWith(`reason=${reason}`))
    assert.doesNotMatch(`${found.stdout}${stdout}${stderr}`, /do-not-print/)
  })
})
