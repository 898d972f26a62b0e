import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import { google, openid } from '../../src/index.ts'
import { ProviderError, type Provider } from '../../src/sign-in/provider.ts'
import { build, type Proof, proof } from '../support/providers/configured.ts'
import { type Google, startGoogle } from '../support/providers/google.ts'
import { startStandIn, type StandIn } from '../support/providers/stand-in.ts'

const callback = 'https://notes.example.com/oauth/callback'

let server: Google
let elsewhere: StandIn
let proven: Proof
let provider: Provider

before(async () => {
  server = await startGoogle()
  elsewhere = await startStandIn({})
  proven = await proof()
})
after(async () => {
  await server.close()
  await elsewhere.close()
})
beforeEach(() => {
  server.answers.clear()
  server.asked.length = 0
  elsewhere.asked.length = 0
  provider = build([
    google({
      clientId: server.clientId,
      clientSecret: server.clientSecret,
      audiences: [server.clientId],
      tokenUri: `${server.url}/token`,
      userinfoUri: `${server.url}/userinfo`,
      jwksUri: `${server.url}/certs`,
    }),
  ]).one()
})

const exchange = (): Promise<unknown> =>
  provider.exchange({ code: server.code(callback, proven.challenge, 'n1'), codeVerifier: proven.verifier, nonce: 'n1' })

/** Asserts that `work` rejects with this failure, without a secret in the error. */
const fails = async (work: Promise<unknown>, failure: string): Promise<ProviderError> => {
  const error = await work.then(
    () => assert.fail('It was accepted'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ProviderError, String(error))
  assert.equal(error.failure, failure, error.message)
  for (const secret of [server.clientSecret, proven.verifier, 'ya29.test', '1//test', '4/']) {
    assert.ok(!`${error.message} ${String(error.cause)} ${error.stack}`.includes(secret), secret)
  }
  return error
}

/** Sends ten million bytes that would be a valid response if they were read. */
const huge: RequestListener = (_, response) => {
  response.setHeader('content-type', 'application/json')
  response.write('{"access_token": "ya29.test", "token_type": "Bearer", "id": "1042", "email": "a@b.example", ')
  response.write('"verified_email": true, "keys": [], "pad": "')
  const piece = Buffer.alloc(65_536, 'x')
  let sent = 0
  const send = (): void => {
    while (sent < 160 && !response.destroyed) {
      sent += 1
      if (!response.write(piece)) return void response.once('drain', send)
    }
    response.end('"}')
  }
  send()
}

const misbehaviors: Readonly<Record<string, RequestListener>> = {
  'an HTML page': (_, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><h1>Welcome</h1>'),
  'HTML labeled as JSON': (_, response) =>
    response.setHeader('content-type', 'application/json').end('<!doctype html>'),
  'truncated JSON': (_, response) => response.setHeader('content-type', 'application/json').end('{"access_token": "y'),
  'status 500': (_, response) => response.writeHead(500, { 'content-type': 'application/json' }).end('{}'),
  'status 503 with tokens': (_, response) =>
    response
      .writeHead(503, { 'content-type': 'application/json' })
      .end('{"access_token": "a", "token_type": "bearer"}'),
  'a redirect': (_, response) => response.writeHead(302, { location: `${elsewhere.url}/stolen` }).end(),
  'a redirect that keeps the method': (_, response) =>
    response.writeHead(307, { location: `${elsewhere.url}/stolen` }).end(),
  '10 MB': huge,
  'a Content-Length of 10 MB': (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '10485760' }).write('{'),
  'a body that ends early': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"a"')
    response.socket?.destroySoon()
  },
  'a closed connection': (request) => request.socket.destroy(),
  'a gzip encoding': (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('x'),
  'no content': (_, response) => response.writeHead(204).end(),
}

describe('a provider that misbehaves', () => {
  for (const [what, answer] of Object.entries(misbehaviors)) {
    it(`does not sign a user in when the token endpoint answers with ${what} (IDP-19)`, async () => {
      server.answers.set('/token', answer)
      await fails(exchange(), what === 'no content' ? 'exchange' : 'unreachable')
      assert.deepEqual(
        server.asked.map(({ path }) => path),
        ['/token'],
      )
      assert.deepEqual(elsewhere.asked, [])
    })

    it(`yields no address when userinfo answers with ${what} (IDP-19)`, async () => {
      server.answers.set('/userinfo', answer)
      const person = (await exchange()) as { readonly address: unknown; readonly stableId: string }
      assert.deepEqual([person.stableId, person.address], ['google:1042', 'failed'])
      assert.deepEqual(elsewhere.asked, [])
    })

    it(`does not sign a user in when the key set is ${what} (IDP-19, IDP-16)`, async () => {
      server.answers.set('/certs', answer)
      await fails(exchange(), what === 'no content' ? 'identity' : 'unreachable')
      assert.deepEqual(elsewhere.asked, [])
    })

    it(`cannot begin a sign-in when discovery answers with ${what} (IDP-19)`, async () => {
      const acme = build([openid({ name: 'acme', issuer: server.url, clientId: 'a', clientSecret: 'b' })])
      server.answers.set('/.well-known/openid-configuration', answer)
      await fails(acme.one().authorizationUrl({ state: 's', nonce: 'n', codeChallenge: 'c' }), 'unreachable')
      await acme.providers.ready()
      assert.equal(acme.one().authorizationEndpoint, '')
      assert.deepEqual(elsewhere.asked, [])
    })
  }

  const strange: [string, unknown][] = [
    ['an empty object', {}],
    ['null', null],
    ['a list', []],
    ['a token that is not a string', { access_token: 7, token_type: 'Bearer' }],
    ['an empty token', { access_token: '', token_type: 'Bearer' }],
    ['no token type', { access_token: 'ya29.test' }],
    ['another token type', { access_token: 'ya29.test', token_type: 'mac' }],
    ['an error with status 200', { error: 'invalid_grant' }],
  ]
  for (const [what, body] of strange) {
    it(`does not sign a user in when the token endpoint answers with ${what} in JSON (IDP-19)`, async () => {
      server.answers.set('/token', (_, response) =>
        response.setHeader('content-type', 'application/json').end(JSON.stringify(body)),
      )
      await fails(exchange(), 'exchange')
    })
  }

  it('does not sign a user in when the id_token is not a string (IDP-19)', async () => {
    server.answers.set('/token', (_, response) =>
      response
        .setHeader('content-type', 'application/json')
        .end('{"access_token": "ya29.test", "token_type": "Bearer", "id_token": {"sub": "1042"}}'),
    )
    await fails(exchange(), 'identity')
  })

  it('does not sign a user in when the access token contains a line break (IDP-19)', async () => {
    server.claims = { email: undefined }
    server.answers.set('/token', (_, response) =>
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ access_token: 'a\r\nx-evil: 1', token_type: 'Bearer' })),
    )
    const plain = build([
      openid({
        name: 'plain',
        clientId: 'a',
        clientSecret: 'b',
        authUri: `${server.url}/auth`,
        tokenUri: `${server.url}/token`,
        userinfoUri: `${server.url}/userinfo`,
      }),
    ]).one()
    await fails(plain.exchange({ code: 'c', codeVerifier: 'v', nonce: 'n' }), 'unreachable')
    assert.ok(!server.asked.some(({ path }) => path === '/userinfo'))
  })

  it('is quoted in the error only if its error code is a plain word (IDP-19, R-TOK-08)', async () => {
    server.answers.set('/token', (_, response) =>
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error": "invalid_scope"}'),
    )
    assert.match((await fails(exchange(), 'exchange')).message, /invalid_scope/)
    server.answers.set('/token', (_, response) =>
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: `x\n${proven.verifier}` })),
    )
    await fails(exchange(), 'exchange')
  })

  it('is not called over plain HTTP unless the operator allows it (IDP-19)', async () => {
    const strict = build(
      [google({ clientId: 'a', clientSecret: 'b', tokenUri: `${server.url}/token`, jwksUri: `${server.url}/certs` })],
      { allowHttp: false },
    ).one()
    await fails(strict.exchange({ code: 'c', codeVerifier: 'v', nonce: 'n' }), 'unreachable')
    assert.deepEqual(server.asked, [])
  })

  it('is reported as unreachable when its port is closed (IDP-19)', async () => {
    const gone = await startStandIn({})
    await gone.close()
    const none = build([google({ clientId: 'a', clientSecret: 'b', tokenUri: `${gone.url}/token` })]).one()
    await fails(none.exchange({ code: 'c', codeVerifier: 'v', nonce: 'n' }), 'unreachable')
  })
})

describe('a provider that never answers', () => {
  for (const [path, seconds, failure] of [
    ['/token', 15, 'unreachable'],
    ['/certs', 5, 'unreachable'],
    ['/userinfo', 10, null],
  ] as const) {
    it(`fails the call to ${path} after ${seconds} s (IDP-19, IDP-16)`, async (t) => {
      const { promise: asked, resolve } = Promise.withResolvers<void>()
      server.answers.set(path, () => resolve())
      t.mock.timers.enable({ apis: ['setTimeout'] })
      const begun = exchange()
      let isOver = false
      void begun.catch(() => undefined).finally(() => void (isOver = true))
      await asked
      t.mock.timers.tick(seconds * 1000 - 1)
      await new Promise(setImmediate)
      assert.equal(isOver, false)
      t.mock.timers.tick(1)
      if (failure === null) assert.equal(((await begun) as { readonly address: unknown }).address, 'failed')
      else await fails(begun, failure)
    })
  }

  it('fails after the timeout even when it sends part of a response (IDP-19)', async (t) => {
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    server.answers.set('/token', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"access_token": "')
      resolve()
    })
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const begun = exchange()
    begun.catch(() => undefined)
    await asked
    t.mock.timers.tick(15_000)
    await fails(begun, 'unreachable')
  })
})
