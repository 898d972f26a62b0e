import assert from 'node:assert/strict'
import { afterEach, before, beforeEach, describe, it } from 'node:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { apple, github, google, openid } from '../../src/index.ts'
import { ProviderError, type Person, type Provider } from '../../src/sign-in/provider.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { type Apple, startApple } from '../support/providers/apple.ts'
import { build, type Built, type Proof, proof } from '../support/providers/configured.ts'
import { type GitHub, startGitHub } from '../support/providers/github.ts'
import { type Google, startGoogle } from '../support/providers/google.ts'

const callback = 'https://notes.example.com/oauth/callback'

const refusedAs = (failure: string, message?: RegExp) => (error: unknown) =>
  error instanceof ProviderError && error.failure === failure && (message?.test(error.message) ?? true)

const paramsOf = async (provider: Provider, request: Partial<Parameters<Provider['authorizationUrl']>[0]> = {}) => {
  const url = new URL(await provider.authorizationUrl({ state: 's1', nonce: 'n1', codeChallenge: 'c1', ...request }))
  return { at: `${url.origin}${url.pathname}`, ...Object.fromEntries(url.searchParams) }
}

let proven: Proof
before(async () => {
  proven = await proof()
})

describe('GitHub', () => {
  let server: GitHub
  let provider: Provider
  beforeEach(async () => {
    server = await startGitHub()
    provider = build([
      github({
        clientId: server.clientId,
        clientSecret: server.clientSecret,
        tokenUri: `${server.url}/login/oauth/access_token`,
        userinfoUri: `${server.url}/user`,
      }),
    ]).one()
  })
  const exchange = async (redirectUri = callback): Promise<Person> =>
    provider.exchange({
      code: server.code(redirectUri, proven.challenge),
      codeVerifier: proven.verifier,
      nonce: 'n1',
    })
  afterEach(() => server.close())

  it('receives the state and the challenge, and a request for the address (IDP-05, R-OC-14)', async () => {
    assert.deepEqual(await paramsOf(provider, { loginHint: 'ada@example.com' }), {
      at: 'https://github.com/login/oauth/authorize',
      response_type: 'code',
      client_id: 'Iv1.test',
      redirect_uri: callback,
      scope: 'user:email',
      state: 's1',
      code_challenge: 'c1',
      code_challenge_method: 'S256',
    })
  })

  it('receives a User-Agent and requests for JSON, and may omit an id_token and a refresh token (R-OC-14)', async () => {
    const person = await exchange()
    assert.deepEqual(person.tokens, { access_token: 'gho_test' })
    assert.deepEqual(
      server.asked.map(({ method, path, headers }) => [method, path, headers['user-agent'], headers.accept]),
      [
        ['POST', '/login/oauth/access_token', 'Troupe/0.0.0-test', 'application/json'],
        ['GET', '/user', 'Troupe/0.0.0-test', 'application/json'],
        ['GET', '/user/emails', 'Troupe/0.0.0-test', 'application/json'],
      ],
    )
  })

  it('identifies a person by number, and names the person by name or login (R-OC-21, R-OC-14)', async () => {
    const first = await exchange()
    assert.equal(first.stableId, 'github:583231')
    assert.deepEqual(first.userInfo, {
      id: 583231,
      login: 'octocat',
      name: 'The Octocat',
      email: 'octocat@example.com',
      sub: '583231',
      display_name: 'The Octocat',
    })
    server.user = { id: 583231, login: 'octocat', email: 'public@example.com' }
    const second = await exchange()
    assert.equal(second.userInfo.display_name, 'octocat')
    assert.equal(second.userInfo.email, 'public@example.com')
    assert.equal(second.address, 'octocat@example.com')
  })

  for (const user of [
    {},
    { login: '583231' },
    { id: '583231' },
    { id: 1.5 },
    { id: 0 },
    { id: 1e300 },
    [],
    null,
    'x',
  ]) {
    it(`identifies no person without a number, as in ${JSON.stringify(user)} (R-OC-21)`, async () => {
      server.user = user as Record<string, unknown>
      await assert.rejects(exchange(), refusedAs('identity'))
    })
  }

  const lists: [string, GitHub['addresses'], string | null][] = [
    [
      'the primary address',
      [
        { email: 'first@example.com', primary: false, verified: true },
        { email: 'Primary@Example.com', primary: true, verified: true },
      ],
      'primary@example.com',
    ],
    [
      'the first verified address when the primary address is not verified',
      [
        { email: 'primary@example.com', primary: true, verified: false },
        { email: 'second@example.com', primary: false, verified: true },
        { email: 'third@example.com', primary: false, verified: true },
      ],
      'second@example.com',
    ],
    ['no address when none is verified', [{ email: 'primary@example.com', primary: true, verified: false }], null],
    ['no address in an empty list', [], null],
  ]
  for (const [what, addresses, expected] of lists) {
    it(`vouches for ${what} (IDP-07)`, async () => {
      server.addresses = addresses
      assert.equal((await exchange()).address, expected)
    })
  }

  it('does not vouch for the address in the profile (IDP-07)', async () => {
    server.user = { id: 1, login: 'mallory', email: 'victim@example.com' }
    server.addresses = [{ email: 'victim@example.com', primary: true, verified: false }]
    assert.equal((await exchange()).address, null)
  })

  for (const [what, status] of [
    ['the scope is missing', 404],
    ['the right is missing', 403],
    ['the request fails', 500],
  ] as const) {
    it(`reports a failed list, rather than no address, when ${what} (IDP-07, R-OC-14)`, async () => {
      server.answers.set('/user/emails', (_, response) => response.writeHead(status).end('{}'))
      const person = await exchange()
      assert.equal(person.address, 'failed')
      assert.equal(person.stableId, 'github:583231')
    })
  }

  it('reports a failed list when the list is malformed (IDP-07)', async () => {
    server.answers.set('/user/emails', (_, response) => response.end('{"message": "nothing"}'))
    assert.equal((await exchange()).address, 'failed')
  })

  it('rejects with status 200 a code that is invented or belongs to another redirect URI or challenge', async () => {
    await assert.rejects(exchange('https://evil.example/callback'), refusedAs('exchange'))
    await assert.rejects(
      provider.exchange({
        code: server.code(callback, 'another challenge'),
        codeVerifier: proven.verifier,
        nonce: 'n',
      }),
      refusedAs('exchange'),
    )
    await assert.rejects(
      provider.exchange({ code: 'invented', codeVerifier: proven.verifier, nonce: 'n' }),
      refusedAs('exchange'),
    )
    assert.ok(!server.asked.some(({ path }) => path === '/user'))
  })

  it('redeems a code of a native application with its own redirect URI (R-OC-14)', async () => {
    const redirectUri = 'notes://github'
    const person = await provider.exchange({
      code: server.code(redirectUri, proven.challenge),
      redirectUri,
      codeVerifier: proven.verifier,
      nonce: null,
    })
    assert.equal(person.stableId, 'github:583231')
  })

  it('accepts no assertions (R-OC-14, R-OC-06)', async () => {
    assert.equal(provider.takesAssertions, false)
    await assert.rejects(provider.verifyAssertion('a.b.c', 'n'), refusedAs('assertion'))
  })
})

describe('Google', () => {
  let server: Google
  let built: Built
  let provider: Provider
  const clock = new ManualClock()
  beforeEach(async () => {
    server = await startGoogle()
    server.now = clock.now
    built = build(
      [
        google({
          clientId: server.clientId,
          clientSecret: server.clientSecret,
          audiences: ['ios.apps.googleusercontent.com', 'android.apps.googleusercontent.com'],
          tokenUri: `${server.url}/token`,
          userinfoUri: `${server.url}/userinfo`,
          jwksUri: `${server.url}/certs`,
        }),
      ],
      { now: clock.now },
    )
    provider = built.one()
  })
  afterEach(() => server.close())
  const exchange = async (nonce = 'n1', more: { issuer?: string } = {}): Promise<Person> =>
    provider.exchange({
      code: server.code(callback, proven.challenge, 'n1'),
      codeVerifier: proven.verifier,
      nonce,
      ...more,
    })

  it('receives the state, the nonce and the challenge, and a request for a refresh token (IDP-05, R-OC-14)', async () => {
    assert.deepEqual(await paramsOf(provider, { loginHint: 'ada@example.com' }), {
      at: 'https://accounts.google.com/o/oauth2/v2/auth',
      access_type: 'offline',
      prompt: 'consent',
      response_type: 'code',
      client_id: 'web.apps.googleusercontent.com',
      redirect_uri: callback,
      scope: 'openid email profile',
      state: 's1',
      nonce: 'n1',
      code_challenge: 'c1',
      code_challenge_method: 'S256',
      login_hint: 'ada@example.com',
    })
  })

  it('ignores settings that would replace the state or the challenge (IDP-05)', async () => {
    const tricked = build([
      google({
        clientId: 'id',
        clientSecret: 'x',
        authorizationParameters: { state: 'fixed', code_challenge: 'fixed' },
      }),
    ]).one()
    const { state, code_challenge } = (await paramsOf(tricked)) as Record<string, string>
    assert.deepEqual([state, code_challenge], ['s1', 'c1'])
  })

  for (const issuer of ['https://accounts.google.com', 'accounts.google.com']) {
    it(`identifies a person by an id_token of ${issuer}, and adds the claims of userinfo (R-OC-14, R-OC-21)`, async () => {
      server.issuer = issuer
      const person = await exchange()
      assert.equal(person.stableId, 'google:1042')
      assert.equal(person.address, 'ada@gmail.example')
      assert.deepEqual(person.userInfo, {
        id: '1042',
        email: 'Ada@Gmail.example',
        verified_email: true,
        name: 'Ada Lovelace',
        given_name: 'Ada',
        sub: '1042',
        display_name: 'Ada Lovelace',
      })
      const { id_token, ...tokens } = person.tokens ?? { access_token: '' }
      assert.deepEqual(tokens, { access_token: 'ya29.test', refresh_token: '1//test', expires_in: 3599 })
      assert.match(id_token ?? '', /^ey/)
    })
  }

  const flags: [Record<string, unknown>, Record<string, unknown>, string | null][] = [
    [{ email: 'a@b.example', verified_email: true }, {}, 'a@b.example'],
    [{ email: 'a@b.example', email_verified: true }, {}, 'a@b.example'],
    [{ email: 'a@b.example', email_verified: 'true' }, {}, 'a@b.example'],
    [{ email: 'a@b.example', verified_email: false }, {}, null],
    [{ email: 'a@b.example', email_verified: false }, {}, null],
    [{ email: 'a@b.example', email_verified: 'false' }, {}, null],
    [{ email: 'a@b.example', email_verified: 1 }, {}, null],
    [{ email: 'a@b.example' }, {}, null],
    [{ verified_email: true }, {}, null],
    [{ email: 'no address', verified_email: true }, {}, null],
    [{ email: ['a@b.example'], verified_email: true }, {}, null],
    // The flag of one source must not verify the address of the other.
    [{ email: 'a@b.example' }, { email: 'c@d.example', email_verified: true }, 'c@d.example'],
    [{ email: 'a@b.example' }, { email_verified: true }, null],
    [{ verified_email: true }, { email: 'c@d.example' }, null],
    [{}, { email: 'c@d.example', email_verified: true }, 'c@d.example'],
  ]
  for (const [userinfo, claims, expected] of flags) {
    it(`vouches for ${expected ?? 'no address'} with userinfo ${JSON.stringify(userinfo)} and id_token ${JSON.stringify(claims)} (IDP-07)`, async () => {
      server.userinfo = { id: '1042', ...userinfo }
      server.claims = claims
      assert.equal((await exchange()).address, expected)
    })
  }

  it('never combines the flag of one source with the address of the other (IDP-07)', async () => {
    server.userinfo = { id: '1042', email: 'a@b.example', name: 'Ada' }
    server.claims = { email: 'c@d.example', email_verified: true, locale: 'en' }
    assert.deepEqual((await exchange()).userInfo, {
      id: '1042',
      sub: '1042',
      email: 'a@b.example',
      name: 'Ada',
      locale: 'en',
      display_name: 'Ada',
    })
  })

  it('uses the claims of the id_token when userinfo fails, and reports an unverified address as failed', async () => {
    server.answers.set('/userinfo', (_, response) => response.writeHead(503).end())
    server.claims = { email: 'ada@gmail.example', email_verified: true, name: 'Ada' }
    const known = await exchange()
    assert.deepEqual(
      [known.stableId, known.address, known.userInfo.display_name],
      ['google:1042', 'ada@gmail.example', 'Ada'],
    )
    server.claims = {}
    assert.equal((await exchange()).address, 'failed')
  })

  it('identifies no person when userinfo describes a different person (IDP-12, R-OC-21)', async () => {
    server.userinfo = { id: '666', email: 'victim@example.com', verified_email: true }
    await assert.rejects(exchange(), refusedAs('identity'))
  })

  it('rejects an id_token with the nonce of another sign-in, or without a nonce (IDP-13)', async () => {
    await assert.rejects(exchange('another nonce'), refusedAs('identity', /its nonce does not match/))
    server.claims = { nonce: undefined }
    await assert.rejects(exchange(), refusedAs('identity', /its nonce does not match/))
  })

  it('rejects a response without the requested id_token (IDP-12)', async () => {
    server.claims = null
    await assert.rejects(exchange(), refusedAs('identity', /sent no id_token/))
  })

  it('rejects an id_token for a native application in a web sign-in (IDP-12)', async () => {
    server.claims = { aud: 'ios.apps.googleusercontent.com' }
    await assert.rejects(exchange(), refusedAs('identity'))
  })

  it('rejects the response of another issuer before it sends the code (IDP-04)', async () => {
    await assert.rejects(exchange('n1', { issuer: 'https://evil.example' }), refusedAs('exchange'))
    assert.deepEqual(server.asked, [])
    assert.equal((await exchange('n1', { issuer: 'https://accounts.google.com' })).stableId, 'google:1042')
  })

  it('verifies the assertion of a native application for each configured audience, without a request for user info (R-OC-06, R-OC-11)', async () => {
    for (const [aud, name] of [
      ['ios.apps.googleusercontent.com', 'google'],
      ['android.apps.googleusercontent.com', 'google-native'],
    ] as const) {
      const seconds = clock.now() / 1000
      const assertion = await server.signer.sign({
        iss: 'https://accounts.google.com',
        aud,
        sub: '1042',
        iat: seconds,
        exp: seconds + 3600,
        nonce: 'app-nonce',
        email: 'ada@gmail.example',
        email_verified: true,
        given_name: 'Ada',
        family_name: 'Lovelace',
      })
      const { person } = await built.one(name).verifyAssertion(assertion, 'app-nonce')
      assert.deepEqual(person, {
        userInfo: {
          sub: '1042',
          email: 'ada@gmail.example',
          email_verified: true,
          given_name: 'Ada',
          family_name: 'Lovelace',
          display_name: 'Ada Lovelace',
        },
        tokens: null,
        stableId: 'google:1042',
        address: 'ada@gmail.example',
      })
    }
    assert.ok(server.asked.every(({ path }) => path === '/certs'))
  })

  it('may serve only native applications, without a secret (R-OC-15)', async () => {
    const native = build(
      [
        google({
          name: 'google-native',
          clientId: server.clientId,
          audiences: [server.clientId],
          tokenUri: `${server.url}/token`,
        }),
      ],
      { now: clock.now },
    ).one()
    await assert.rejects(
      native.exchange({ code: server.code('notes://x', proven.challenge, 'n'), codeVerifier: 'v', nonce: null }),
      refusedAs('exchange', /invalid_client/),
    )
    assert.equal(server.asked[0]?.form.has('client_secret'), false)
    assert.equal(server.asked[0]?.form.get('client_id'), server.clientId)
  })
})

describe('Apple', () => {
  let server: Apple
  let provider: Provider
  let clock: ManualClock
  beforeEach(async () => {
    clock = new ManualClock(1_900_000_000_000)
    server = await startApple()
    server.now = clock.now
    provider = build(
      [
        apple({
          clientId: server.clientId,
          teamId: server.teamId,
          keyId: server.keyId,
          privateKey: server.privateKey,
          audiences: ['com.example.ios'],
          tokenUri: `${server.url}/auth/token`,
          jwksUri: `${server.url}/auth/keys`,
        }),
      ],
      { now: clock.now },
    ).one()
  })
  afterEach(() => server.close())
  const formCallback = 'https://notes.example.com/oauth/callback/apple'
  const signIn = async (nonce = 'n1'): Promise<Person> => {
    const posted = server.signIn(formCallback, 'n1')
    return provider.exchange({ ...posted, codeVerifier: proven.verifier, nonce })
  }

  it('is requested to respond by a form, with a nonce and without a challenge (R-OC-14, R-OC-02)', async () => {
    assert.deepEqual(await paramsOf(provider, { loginHint: 'ada@example.com' }), {
      at: 'https://appleid.apple.com/auth/authorize',
      response_type: 'code',
      client_id: 'com.example.web',
      redirect_uri: formCallback,
      scope: 'openid name email',
      state: 's1',
      nonce: 'n1',
      response_mode: 'form_post',
    })
    assert.equal(provider.userinfoEndpoint, '')
  })

  it('sends the name only at the first sign-in, and everything else in the id_token (R-OC-14, R-OC-21)', async () => {
    const first = await signIn()
    assert.equal(first.stableId, 'apple:000123.abc.0456')
    assert.deepEqual(first.userInfo, {
      sub: '000123.abc.0456',
      email: 'ada@icloud.example',
      email_verified: 'true',
      display_name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
    })
    const second = await signIn()
    assert.deepEqual(second.userInfo, {
      sub: '000123.abc.0456',
      email: 'ada@icloud.example',
      email_verified: 'true',
    })
  })

  it('is not trusted about an address that the browser delivers (IDP-07, R-OC-14)', async () => {
    server.claims = { email: undefined, email_verified: undefined }
    const person = await signIn()
    assert.equal(person.address, null)
    assert.ok(!JSON.stringify(person.userInfo).includes('forged@example.com'))
  })

  for (const user of ['', 'not JSON', 'null', '[]', '{"name": null}', '{"name": {"firstName": 7}}', '{"name": "x"}']) {
    it(`accepts a sign-in whose form field user is ${JSON.stringify(user)} (R-OC-14)`, async () => {
      const { code } = server.signIn(formCallback, 'n1')
      const person = await provider.exchange({ code, user, codeVerifier: null, nonce: 'n1' })
      assert.equal(person.stableId, 'apple:000123.abc.0456')
      assert.equal(person.userInfo.display_name, undefined)
    })
  }

  const flags: [Record<string, unknown>, string | null][] = [
    [{ email_verified: true }, 'ada@icloud.example'],
    [{ email_verified: 'true' }, 'ada@icloud.example'],
    [{ email_verified: 'false' }, null],
    [{ email_verified: false }, null],
    [{ email_verified: undefined }, null],
    [
      { email: 'x7@privaterelay.appleid.com', email_verified: 'true', is_private_email: 'true' },
      'x7@privaterelay.appleid.com',
    ],
    [
      { email: 'x7@privaterelay.appleid.com', email_verified: undefined, is_private_email: true },
      'x7@privaterelay.appleid.com',
    ],
    [{ email: 'x7@privaterelay.appleid.com', email_verified: 'false', is_private_email: 'true' }, null],
  ]
  for (const [claims, expected] of flags) {
    it(`vouches for ${expected ?? 'no address'} with ${JSON.stringify(claims)} (IDP-07)`, async () => {
      server.claims = claims
      assert.equal((await signIn()).address, expected)
    })
  }

  it('receives a client secret that is signed again every five minutes and reused in between (R-OC-14)', async () => {
    clock.pass(300_000 - (clock.now() % 300_000))
    await signIn()
    clock.pass(299_999)
    await signIn()
    clock.pass(1)
    await signIn()
    const [first, second, third] = server.asked
      .filter(({ path }) => path === '/auth/token')
      .map(({ form }) => form.get('client_secret') ?? '')
    assert.equal(first, second)
    assert.notEqual(second, third)
    assert.deepEqual(decodeProtectedHeader(first ?? ''), { alg: 'ES256', kid: 'KEY1234567' })
    const { iat, exp, ...claims } = decodeJwt(third ?? '')
    assert.deepEqual(claims, { iss: 'TEAM123456', sub: 'com.example.web', aud: 'https://appleid.apple.com' })
    assert.equal((exp ?? 0) - (iat ?? 0), 3600)
  })

  it('rejects a client secret of another team, key or client (R-OC-14)', async () => {
    for (const other of [{ teamId: 'OTHERTEAM1' }, { keyId: 'OTHERKEY12' }, { clientId: 'com.example.other' }]) {
      const wrong = build(
        [
          apple({
            clientId: server.clientId,
            teamId: server.teamId,
            keyId: server.keyId,
            privateKey: server.privateKey,
            tokenUri: `${server.url}/auth/token`,
            jwksUri: `${server.url}/auth/keys`,
            ...other,
          }),
        ],
        { now: clock.now },
      ).one()
      const { code } = server.signIn(formCallback, 'n1')
      await assert.rejects(
        wrong.exchange({ code, codeVerifier: null, nonce: 'n1' }),
        refusedAs('exchange', /invalid_client/),
      )
    }
  })

  it('accepts the nonce of a native application as it is, or hashed (IDP-13, R-OC-06)', async () => {
    const seconds = clock.now() / 1000
    const assertion = (nonce: string): Promise<string> =>
      server.signer.sign({
        iss: 'https://appleid.apple.com',
        aud: 'com.example.ios',
        sub: '000123.abc.0456',
        iat: seconds,
        exp: seconds + 600,
        nonce,
      })
    const raw = 'raw-nonce'
    const hashed = '2c5d107938053a2275f022c153c9a71f65ee07754b8bca543ee97a0c3cc66990'
    for (const nonce of [raw, hashed]) {
      const { person } = await provider.verifyAssertion(await assertion(nonce), raw)
      assert.equal(person.stableId, 'apple:000123.abc.0456')
    }
    for (const nonce of [hashed.toUpperCase(), 'LF0QeTgFOiJ18CLBU8mnH2XuB3VLi8pUPul6DDzGaZA=', 'other']) {
      await assert.rejects(provider.verifyAssertion(await assertion(nonce), raw), refusedAs('assertion', /nonce/))
    }
  })

  for (const issuer of ['https://appleid.apple.com', 'https://account.apple.com']) {
    it(`may sign id_tokens as ${issuer} (R-OC-14)`, async () => {
      server.claims = { iss: issuer }
      assert.equal((await signIn()).stableId, 'apple:000123.abc.0456')
    })
  }
})

describe('an OpenID Connect provider', () => {
  let server: IdentityProvider
  let built: Built
  let provider: Provider
  const start = (more: Partial<Parameters<typeof openid>[0]> = {}): Built =>
    build([
      openid({
        name: 'acme',
        issuer: server.issuer,
        clientId: server.clientId,
        clientSecret: server.clientSecret,
        ...more,
      }),
    ])
  beforeEach(async () => {
    server = await startIdentityProvider()
    built = start()
    provider = built.one()
  })
  afterEach(() => server.close())
  const begin = async (at = provider): Promise<URL> => {
    const url = await at.authorizationUrl({ state: 's1', nonce: 'n1', codeChallenge: proven.challenge })
    return (await server.signIn(url, 'ada')).url
  }
  const finish = async (back: URL, more: Partial<Parameters<Provider['exchange']>[0]> = {}): Promise<Person> =>
    provider.exchange({
      code: back.searchParams.get('code') ?? '',
      codeVerifier: proven.verifier,
      nonce: 'n1',
      issuer: back.searchParams.get('iss') ?? '',
      ...more,
    })

  it('is discovered at its issuer, and identifies a person (R-OC-15, R-OC-21)', async () => {
    const person = await finish(await begin())
    assert.equal(person.stableId, 'acme:ada')
    assert.equal(person.address, 'ada@example.com')
    assert.equal(person.userInfo.display_name, 'Ada Lovelace')
    assert.deepEqual(server.requests.slice(0, 1), ['GET /.well-known/openid-configuration'])
    assert.deepEqual(server.requests.slice(-3), ['POST /token', 'GET /jwks', 'GET /me'])
  })

  it('has endpoints after discovery (R-OC-03)', async () => {
    assert.equal(provider.authorizationEndpoint, '')
    await built.providers.ready()
    assert.deepEqual(
      [provider.authorizationEndpoint, provider.tokenEndpoint, provider.userinfoEndpoint],
      [`${server.issuer}/auth`, `${server.issuer}/token`, `${server.issuer}/me`],
    )
  })

  it('receives one request for its metadata (R-OC-15)', async () => {
    await Promise.all([begin(), begin(), built.providers.ready()])
    assert.equal(server.requests.filter((request) => request.includes('well-known')).length, 1)
  })

  it('receives the challenge, and rejects a code without its verifier (IDP-05)', async () => {
    const url = new URL(await provider.authorizationUrl({ state: 's', nonce: 'n', codeChallenge: proven.challenge }))
    assert.equal(url.searchParams.get('code_challenge'), proven.challenge)
    assert.equal(url.searchParams.get('code_challenge_method'), 'S256')
    const other = await proof()
    await assert.rejects(
      finish(await begin(), { codeVerifier: other.verifier }),
      refusedAs('exchange', /invalid_grant/),
    )
    await assert.rejects(finish(await begin(), { codeVerifier: null }), refusedAs('exchange', /invalid_grant/))
  })

  it('rejects a code that was already used', async () => {
    const back = await begin()
    await finish(back)
    await assert.rejects(finish(back), refusedAs('exchange', /invalid_grant/))
  })

  it('must send its own issuer in the response, because its metadata announces the parameter (IDP-04)', async () => {
    const back = await begin()
    const code = back.searchParams.get('code') ?? ''
    const asked = { code, codeVerifier: proven.verifier, nonce: 'n1' }
    for (const issuer of ['https://evil.example', '', `${server.issuer}/`]) {
      await assert.rejects(provider.exchange({ ...asked, issuer }), refusedAs('exchange'))
    }
    await assert.rejects(provider.exchange(asked), refusedAs('exchange'))
    assert.equal(server.requests.includes('POST /token'), false)
    assert.equal((await finish(back)).stableId, 'acme:ada')
  })

  it('vouches for an address only when a claim says that it is verified (IDP-07)', async () => {
    for (const [claims, expected] of [
      [{ email: 'bob@example.com' }, null],
      [{ email: 'bob@example.com', email_verified: false }, null],
      [{ email: 'Bob@Example.com', email_verified: true }, 'bob@example.com'],
      [{}, null],
    ] as const) {
      server.people.set('ada', claims)
      assert.equal((await finish(await begin())).address, expected)
    }
  })

  it('responds by a form when that is configured (R-OC-14)', async () => {
    const form = start({ responseMode: 'form_post' }).one()
    assert.equal(form.redirectUri, 'https://notes.example.com/oauth/callback/acme')
    const url = await form.authorizationUrl({ state: 's1', nonce: 'n1', codeChallenge: proven.challenge })
    const back = await server.signIn(url, 'ada')
    assert.equal(back.url.href, 'https://notes.example.com/oauth/callback/acme')
    assert.equal(back.form?.get('state'), 's1')
    const person = await form.exchange({
      code: back.form?.get('code') ?? '',
      codeVerifier: proven.verifier,
      nonce: 'n1',
      issuer: back.form?.get('iss') ?? '',
    })
    assert.equal(person.stableId, 'acme:ada')
  })

  it('must sign with the configured algorithm (IDP-12, R-OC-15)', async () => {
    const other = start({ algorithm: 'ES256' }).one()
    const back = await begin(other)
    await assert.rejects(
      other.exchange({
        code: back.searchParams.get('code') ?? '',
        codeVerifier: proven.verifier,
        nonce: 'n1',
        issuer: server.issuer,
      }),
      refusedAs('identity', /alg/),
    )
  })

  it('may send names in any of the known spellings (R-OC-14)', async () => {
    server.people.set('ada', { firstName: 'Ada', lastName: 'Byron', email: 'ada@example.com', email_verified: true })
    const { userInfo } = await finish(await begin())
    assert.deepEqual(
      [userInfo.display_name, userInfo.given_name, userInfo.family_name, userInfo['firstName']],
      ['Ada Byron', 'Ada', 'Byron', 'Ada'],
    )
  })

  it('identifies the users of native applications for each configured audience (R-OC-06)', async () => {
    const native = start({ audiences: ['app'] }).one('acme-native')
    const { person } = await native.verifyAssertion(
      await server.assertion({ aud: 'app', sub: 'ada', nonce: 'n', email: 'ada@example.com', email_verified: true }),
      'n',
    )
    assert.deepEqual([person.stableId, person.address, person.tokens], ['acme:ada', 'ada@example.com', null])
    assert.ok(!server.requests.includes('GET /me'))
  })

  it('counts as unreachable when its metadata names another issuer', async () => {
    server.answers.set('/.well-known/openid-configuration', (_, response) =>
      response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          issuer: 'https://evil.example',
          authorization_endpoint: 'https://evil.example/auth',
          token_endpoint: 'https://evil.example/token',
          jwks_uri: 'https://evil.example/jwks',
        }),
      ),
    )
    await assert.rejects(begin(), refusedAs('unreachable'))
  })
})
