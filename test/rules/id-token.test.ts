import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { exportSPKI, importJWK } from 'jose'
import { google, openid } from '../../src/index.ts'
import { ProviderError, type Provider } from '../../src/sign-in/provider.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { build } from '../support/providers/configured.ts'
import { createSigner, type Signer } from '../support/providers/signer.ts'
import { type StandIn, startStandIn } from '../support/providers/stand-in.ts'

const now = 1_900_000_000
let keys: unknown[]
let server: StandIn
let signer: Signer
let stranger: Signer
let clock: ManualClock
let provider: Provider

before(async () => {
  signer = await createSigner('k1')
  stranger = await createSigner('k1')
  server = await startStandIn({ 'GET /keys': () => ({ json: { keys } }) })
})
after(() => server.close())

beforeEach(() => {
  keys = [signer.publicKey]
  server.asked.length = 0
  server.answers.clear()
  clock = new ManualClock(now * 1000)
  provider = fresh()
})

const fresh = (): Provider =>
  build(
    [google({ clientId: 'web', clientSecret: 'x', audiences: ['ios', 'android'], jwksUri: `${server.url}/keys` })],
    {
      now: clock.now,
    },
  ).one()

const good = {
  iss: 'https://accounts.google.com',
  aud: 'ios',
  sub: '1042',
  iat: now,
  exp: now + 3600,
  nonce: 'n1',
}
const token = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<string> =>
  signer.sign({ ...good, ...claims }, header)

const refuses = async (assertion: string, nonce = 'n1'): Promise<void> => {
  await assert.rejects(
    provider.verifyAssertion(assertion, nonce),
    (error) => error instanceof ProviderError && error.failure === 'assertion' && !error.message.includes('1042'),
  )
}

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('an id_token as an assertion', () => {
  it('identifies its subject (R-OC-06)', async () => {
    const { person } = await provider.verifyAssertion(await token(), 'n1')
    assert.equal(person.stableId, 'google:1042')
  })

  const wrong: [string, Record<string, unknown>][] = [
    ['another audience', { aud: 'web' }],
    ['an audience with an accepted prefix', { aud: 'ios2' }],
    ['several audiences of which one is accepted', { aud: ['ios', 'other'] }],
    ['several audiences that are all accepted', { aud: ['ios', 'android'] }],
    ['no audience', { aud: undefined }],
    ['an empty list of audiences', { aud: [] }],
    ['an audience that is not a string', { aud: 7 }],
    ['another issuer', { iss: 'https://accounts.google.com.evil.example' }],
    ['the issuer with a slash', { iss: 'https://accounts.google.com/' }],
    ['no issuer', { iss: undefined }],
    ['a list of issuers', { iss: ['https://accounts.google.com'] }],
    ['an expiry in the past by more than the clock skew', { exp: now - 60 }],
    ['the expiry 0', { exp: 0 }],
    ['a negative expiry', { exp: -1 }],
    ['an expiry as a string', { exp: String(now + 3600) }],
    ['no expiry', { exp: undefined }],
    ['a null expiry', { exp: null }],
    ['an expiry beyond the range of dates', { exp: 1e300 }],
    ['a lifetime of more than a year', { exp: now + 31_536_001 }],
    ['an issue time in the future by more than the clock skew', { iat: now + 61 }],
    ['an issue time as a string', { iat: String(now) }],
    ['no issue time', { iat: undefined }],
    ['a “not before” time in the future', { nbf: now + 61 }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject that is not a string', { sub: 1042 }],
    ['a subject of 256 characters', { sub: '1'.repeat(256) }],
  ]
  for (const [what, claims] of wrong) {
    it(`is rejected with ${what} (IDP-12)`, async () => {
      await refuses(await token(claims))
    })
  }

  const fine: [string, Record<string, unknown>][] = [
    ['an expiry 59 seconds in the past', { exp: now - 59 }],
    ['an issue time 60 seconds in the future', { iat: now + 60 }],
    ['a list of one audience', { aud: ['android'] }],
    ['the issuer without https', { iss: 'accounts.google.com' }],
    ['an issue time one day in the past', { iat: now - 86_400 }],
  ]
  for (const [what, claims] of fine) {
    it(`is accepted with ${what} (IDP-12)`, async () => {
      assert.equal((await provider.verifyAssertion(await token(claims), 'n1')).person.stableId, 'google:1042')
    })
  }

  it('is rejected without a signature (IDP-12)', async () => {
    await refuses(`${base64({ alg: 'none', kid: 'k1' })}.${base64(good)}.`)
    await refuses(`${base64({ alg: 'None', kid: 'k1' })}.${base64(good)}.x`)
  })

  it('is rejected when the public key was used as a shared secret (IDP-12)', async () => {
    const pem = await exportSPKI((await importJWK(signer.publicKey, 'RS256')) as CryptoKey)
    for (const secret of [pem, JSON.stringify(signer.publicKey), signer.publicKey.n ?? '']) {
      const signed = `${base64({ alg: 'HS256', kid: 'k1' })}.${base64(good)}`
      await refuses(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`)
    }
  })

  it('is rejected when a stranger signed it under the same key id (IDP-12)', async () => {
    await refuses(await stranger.sign(good))
  })

  it('is rejected when it was changed after it was signed (IDP-12)', async () => {
    const [header, , signature] = (await token()).split('.')
    await refuses(`${header}.${base64({ ...good, sub: '1' })}.${signature}`)
  })

  it('is rejected with its own key or key URL in the header (IDP-12)', async () => {
    await refuses(await stranger.sign(good, { jwk: stranger.publicKey }))
    await refuses(await stranger.sign(good, { jku: 'https://evil.example/keys', kid: undefined }))
    assert.ok(server.asked.length <= 2)
  })

  it('is rejected without a key id when the provider has several keys (IDP-12)', async () => {
    keys.push(stranger.publicKey)
    await refuses(await token({}, { kid: undefined }))
  })

  it('is rejected when its algorithm is not the configured one (IDP-12)', async () => {
    const elliptic = await createSigner('k2', 'ES256')
    keys.push(elliptic.publicKey)
    await refuses(await elliptic.sign(good))
  })

  for (const text of ['', '.', 'a.b.c', 'a.b', 'eyJ.eyJ.', '....', '{}', 'x'.repeat(100_000), '\0', '💥.💥.💥']) {
    it(`is rejected when it is malformed: ${JSON.stringify(text.slice(0, 20))} (IDP-12)`, async () => {
      await refuses(text)
    })
  }

  const nonces: [string, Record<string, unknown>, string][] = [
    ['missing', { nonce: undefined }, 'n1'],
    ['another value', { nonce: 'n2' }, 'n1'],
    ['empty', { nonce: '' }, 'n1'],
    ['empty on both sides', { nonce: '' }, ''],
    ['not a string', { nonce: ['n1'] }, 'n1'],
    // echo -n n1 | sha256sum
    ['hashed', { nonce: '676b8bb84ce7267dd520deca4811c8f10a53e636352f06987f42fe425acedd80' }, 'n1'],
  ]
  for (const [what, claims, nonce] of nonces) {
    it(`is rejected when its nonce is ${what} (IDP-13)`, async () => {
      await refuses(await token(claims), nonce)
    })
  }

  it('is rejected when it was issued by another provider than the named one (IDP-15)', async () => {
    const acme = build([openid({ name: 'acme', issuer: server.url, clientId: 'ios', audiences: ['ios'] })], {
      now: clock.now,
    })
    server.answers.set('/.well-known/openid-configuration', (_, response) =>
      response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          issuer: server.url,
          authorization_endpoint: `${server.url}/auth`,
          token_endpoint: `${server.url}/token`,
          jwks_uri: `${server.url}/keys`,
        }),
      ),
    )
    await assert.rejects(acme.one().verifyAssertion(await token(), 'n1'), { failure: 'assertion' })
    assert.equal(
      (await acme.one().verifyAssertion(await token({ iss: server.url }), 'n1')).person.stableId,
      'acme:1042',
    )
  })
})

describe('the fingerprint of an assertion', () => {
  const markOf = async (claims: Record<string, unknown>): Promise<string> =>
    (await provider.verifyAssertion(await token(claims), 'n1')).fingerprint

  it('is the same for the same assertion, however the assertion is encoded (IDP-14)', async () => {
    assert.equal(await markOf({ jti: 'a' }), await markOf({ jti: 'a' }))
    assert.equal(await markOf({ jti: 'a', extra: 1 }), await markOf({ jti: 'a', exp: now + 10 }))
    assert.equal(await markOf({}), await markOf({ extra: 1 }))
  })

  it('differs for a different assertion (IDP-14)', async () => {
    const marks = await Promise.all([
      markOf({ jti: 'a' }),
      markOf({ jti: 'b' }),
      markOf({ jti: 'a', iss: 'accounts.google.com' }),
      markOf({}),
      markOf({ sub: '1043' }),
      markOf({ iat: now - 1 }),
      markOf({ iss: 'accounts.google.com' }),
    ])
    assert.equal(new Set(marks).size, marks.length)
  })

  it('is made of issuer, subject and time when the jti is not valid (IDP-14)', async () => {
    const without = await markOf({})
    for (const jti of ['', 7, null]) assert.equal(await markOf({ jti }), without)
  })

  it('is kept longer than the assertion is accepted (IDP-14)', async () => {
    const { until } = await provider.verifyAssertion(await token({ exp: now + 600 }), 'n1')
    assert.equal(until, now + 720)
    clock.pass(659_000)
    await provider.verifyAssertion(await token({ exp: now + 600 }), 'n1')
    clock.pass(1000)
    await refuses(await token({ exp: now + 600 }))
    assert.ok(until * 1000 > clock.now())
  })
})

describe('the keys of a provider', () => {
  const verify = async (assertion?: string): Promise<unknown> =>
    provider.verifyAssertion(assertion ?? (await token()), 'n1')
  const fetches = (): number => server.asked.length
  const breakDown = (): void => void server.answers.set('/keys', (_, response) => response.writeHead(500).end())
  const unreachable = { name: 'ProviderError', failure: 'unreachable' }

  it('are fetched once in an hour (IDP-16)', async () => {
    await Promise.all([verify(), verify(), verify()])
    clock.pass(3_599_999)
    await verify(await token({ exp: now + 7200 }))
    assert.equal(fetches(), 1)
    clock.pass(1)
    await verify(await token({ exp: now + 7200 }))
    assert.equal(fetches(), 2)
  })

  it('are fetched again after a rotation (IDP-16)', async () => {
    await verify()
    const next = await createSigner('k2')
    keys = [next.publicKey]
    clock.pass(5000)
    await verify(await next.sign(good))
    assert.equal(fetches(), 2)
  })

  it('are fetched at most once in five seconds because of unknown key ids (IDP-16)', async () => {
    await verify()
    clock.pass(5000)
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => refuses(await token({}, { kid: `made-up-${index}` }))),
    )
    assert.equal(fetches(), 2)
    clock.pass(4999)
    await refuses(await token({}, { kid: 'made-up' }))
    assert.equal(fetches(), 2)
    clock.pass(1)
    await refuses(await token({}, { kid: 'made-up' }))
    assert.equal(fetches(), 3)
    await verify()
  })

  it('identify no user while they cannot be fetched, and are fetched again after a minute (IDP-16)', async () => {
    breakDown()
    await assert.rejects(verify(), unreachable)
    await assert.rejects(verify(), unreachable)
    clock.pass(59_999)
    await assert.rejects(verify(), unreachable)
    assert.equal(fetches(), 1)
    clock.pass(1)
    server.answers.clear()
    await verify()
    assert.equal(fetches(), 2)
  })

  it('stay valid for an hour in the cache, and expire then (IDP-16)', async () => {
    await verify()
    breakDown()
    clock.pass(10_000)
    await refuses(await token({}, { kid: 'made-up' }))
    await verify()
    clock.pass(3_589_999)
    await verify(await token({ exp: now + 7200 }))
    clock.pass(1)
    await assert.rejects(verify(await token({ exp: now + 7200 })), unreachable)
  })

  it('cause few fetches while the provider fails (IDP-16)', async () => {
    await verify()
    breakDown()
    for (let index = 0; index < 10; index += 1) {
      clock.pass(5000)
      await refuses(await token({}, { kid: `made-up-${index}` }))
    }
    assert.equal(fetches(), 2)
  })

  const broken: [string, string][] = [
    ['HTML', '<!doctype html><title>Sign in to the network</title>'],
    ['a list', '[]'],
    ['nothing', ''],
    ['an object without keys', '{}'],
    ['keys that are not a list', '{"keys": {}}'],
    ['keys that are not objects', '{"keys": [1]}'],
  ]
  for (const [what, body] of broken) {
    it(`identify no user when the response is ${what} (IDP-16)`, async () => {
      server.answers.set('/keys', (_, response) => response.setHeader('content-type', 'application/json').end(body))
      await assert.rejects(verify(), unreachable)
    })
  }

  it('identify no user when the set is empty or has only other kinds of keys (IDP-16)', async () => {
    keys = []
    await refuses(await token())
    clock.pass(5000)
    keys = [
      { kty: 'RSA', kid: 'k1', use: 'enc', n: 'AQAB', e: 'AQAB' },
      { kty: 'oct', kid: 'k1', k: 'AQAB' },
    ]
    await refuses(await token())
  })

  it('identify no user when they are malformed (IDP-16)', async () => {
    keys = [{ kty: 'RSA', kid: 'k1', alg: 'RS256', use: 'sig', n: '!', e: '' }]
    await refuses(await token())
  })
})
