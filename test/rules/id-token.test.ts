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

describe('an id_token that is shown as an assertion', () => {
  it('R-OC-06 proves who it names', async () => {
    const { person } = await provider.verifyAssertion(await token(), 'n1')
    assert.equal(person.stableId, 'google:1042')
  })

  const wrong: [string, Record<string, unknown>][] = [
    ['another audience', { aud: 'web' }],
    ['an audience that only begins like one', { aud: 'ios2' }],
    ['several audiences, ours among them', { aud: ['ios', 'other'] }],
    ['several audiences, all of them ours', { aud: ['ios', 'android'] }],
    ['no audience', { aud: undefined }],
    ['an empty list of audiences', { aud: [] }],
    ['an audience that is no text', { aud: 7 }],
    ['another issuer', { iss: 'https://accounts.google.com.evil.example' }],
    ['the issuer with a slash', { iss: 'https://accounts.google.com/' }],
    ['no issuer', { iss: undefined }],
    ['a list of issuers', { iss: ['https://accounts.google.com'] }],
    ['a time that is over by more than the skew', { exp: now - 60 }],
    ['the time 0', { exp: 0 }],
    ['a negative time', { exp: -1 }],
    ['a time in text', { exp: String(now + 3600) }],
    ['no time', { exp: undefined }],
    ['null for a time', { exp: null }],
    ['a time beyond all measure', { exp: 1e300 }],
    ['a life of more than a year', { exp: now + 31_536_001 }],
    ['a beginning in the future by more than the skew', { iat: now + 61 }],
    ['a beginning in text', { iat: String(now) }],
    ['no beginning', { iat: undefined }],
    ['a day before which it does not count', { nbf: now + 61 }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject that is no text', { sub: 1042 }],
    ['a subject longer than any', { sub: '1'.repeat(256) }],
  ]
  for (const [what, claims] of wrong) {
    it(`IDP-12 is refused with ${what}`, async () => {
      await refuses(await token(claims))
    })
  }

  const fine: [string, Record<string, unknown>][] = [
    ['a time that was over a minute ago, less a second', { exp: now - 59 }],
    ['a beginning a minute from now', { iat: now + 60 }],
    ['a list of one audience', { aud: ['android'] }],
    ['the issuer without https', { iss: 'accounts.google.com' }],
    ['an iat of long ago', { iat: now - 86_400 }],
  ]
  for (const [what, claims] of fine) {
    it(`IDP-12 is taken with ${what}`, async () => {
      assert.equal((await provider.verifyAssertion(await token(claims), 'n1')).person.stableId, 'google:1042')
    })
  }

  it('IDP-12 is refused without a signature', async () => {
    await refuses(`${base64({ alg: 'none', kid: 'k1' })}.${base64(good)}.`)
    await refuses(`${base64({ alg: 'None', kid: 'k1' })}.${base64(good)}.x`)
  })

  it('IDP-12 is refused when the public key was used as a shared secret', async () => {
    const pem = await exportSPKI((await importJWK(signer.publicKey, 'RS256')) as CryptoKey)
    for (const secret of [pem, JSON.stringify(signer.publicKey), signer.publicKey.n ?? '']) {
      const signed = `${base64({ alg: 'HS256', kid: 'k1' })}.${base64(good)}`
      await refuses(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`)
    }
  })

  it('IDP-12 is refused when somebody else signed it under the same key id', async () => {
    await refuses(await stranger.sign(good))
  })

  it('IDP-12 is refused when it was changed after it was signed', async () => {
    const [header, , signature] = (await token()).split('.')
    await refuses(`${header}.${base64({ ...good, sub: '1' })}.${signature}`)
  })

  it('IDP-12 is refused with a key of its own in the header', async () => {
    await refuses(await stranger.sign(good, { jwk: stranger.publicKey }))
    await refuses(await stranger.sign(good, { jku: 'https://evil.example/keys', kid: undefined }))
    assert.ok(server.asked.length <= 2)
  })

  it('IDP-12 is refused without a key id', async () => {
    await refuses(await token({}, { kid: undefined }))
  })

  it('IDP-12 is refused when it is signed by another algorithm than the configured one', async () => {
    const elliptic = await createSigner('k2', 'ES256')
    keys.push(elliptic.publicKey)
    await refuses(await elliptic.sign(good))
  })

  for (const text of ['', '.', 'a.b.c', 'a.b', 'eyJ.eyJ.', '....', '{}', 'x'.repeat(100_000), '\0', '💥.💥.💥']) {
    it(`IDP-12 is refused when it is none: ${JSON.stringify(text.slice(0, 20))}`, async () => {
      await refuses(text)
    })
  }

  const nonces: [string, Record<string, unknown>, string][] = [
    ['missing', { nonce: undefined }, 'n1'],
    ['another one', { nonce: 'n2' }, 'n1'],
    ['empty', { nonce: '' }, 'n1'],
    ['empty on both sides', { nonce: '' }, ''],
    ['no text', { nonce: ['n1'] }, 'n1'],
    // echo -n n1 | sha256sum
    ['hashed', { nonce: '676b8bb84ce7267dd520deca4811c8f10a53e636352f06987f42fe425acedd80' }, 'n1'],
  ]
  for (const [what, claims, nonce] of nonces) {
    it(`IDP-13 is refused when its nonce is ${what}`, async () => {
      await refuses(await token(claims), nonce)
    })
  }

  it('IDP-15 is refused when it is of another provider than the one that was named', async () => {
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

describe('the mark of an assertion', () => {
  const markOf = async (claims: Record<string, unknown>): Promise<string> =>
    (await provider.verifyAssertion(await token(claims), 'n1')).fingerprint

  it('IDP-14 is the same whenever the same assertion is shown, however it is encoded', async () => {
    assert.equal(await markOf({ jti: 'a' }), await markOf({ jti: 'a' }))
    assert.equal(await markOf({ jti: 'a', extra: 1 }), await markOf({ jti: 'a', exp: now + 10 }))
    assert.equal(await markOf({}), await markOf({ extra: 1 }))
  })

  it('IDP-14 is another one for another assertion', async () => {
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

  it('IDP-14 falls back on issuer, subject and time when the id is none', async () => {
    const without = await markOf({})
    for (const jti of ['', 7, null]) assert.equal(await markOf({ jti }), without)
  })

  it('IDP-14 outlives the time for which the assertion is accepted', async () => {
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

  it('IDP-16 are asked for once in an hour', async () => {
    await Promise.all([verify(), verify(), verify()])
    clock.pass(3_599_999)
    await verify(await token({ exp: now + 7200 }))
    assert.equal(fetches(), 1)
    clock.pass(1)
    await verify(await token({ exp: now + 7200 }))
    assert.equal(fetches(), 2)
  })

  it('IDP-16 that were exchanged meanwhile are found', async () => {
    await verify()
    const next = await createSigner('k2')
    keys = [next.publicKey]
    clock.pass(5000)
    await verify(await next.sign(good))
    assert.equal(fetches(), 2)
  })

  it('IDP-16 that are unknown cause one fetch in five seconds, however many are named', async () => {
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

  it('IDP-16 that cannot be had prove nobody, and are asked for again after a minute', async () => {
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

  it('IDP-16 that are kept count to the end of their hour, and then no more', async () => {
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

  it('IDP-16 cause no flood while they cannot be had', async () => {
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
    ['keys that are no list', '{"keys": {}}'],
    ['keys that are no objects', '{"keys": [1]}'],
  ]
  for (const [what, body] of broken) {
    it(`IDP-16 prove nobody when the answer is ${what}`, async () => {
      server.answers.set('/keys', (_, response) => response.setHeader('content-type', 'application/json').end(body))
      await assert.rejects(verify(), unreachable)
    })
  }

  it('IDP-16 prove nobody when the set has none, or only other ones', async () => {
    keys = []
    await refuses(await token())
    clock.pass(5000)
    keys = [
      { kty: 'RSA', kid: 'k1', use: 'enc', n: 'AQAB', e: 'AQAB' },
      { kty: 'oct', kid: 'k1', k: 'AQAB' },
    ]
    await refuses(await token())
  })

  it('IDP-16 that are none prove nobody', async () => {
    keys = [{ kty: 'RSA', kid: 'k1', alg: 'RS256', use: 'sig', n: '!', e: '' }]
    await refuses(await token())
  })
})
