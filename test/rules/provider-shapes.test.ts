/** Forms of id_tokens and metadata that real providers send, and forgeries beside each of them. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { generateKeyPair, exportJWK, SignJWT, type JWK } from 'jose'
import { openid } from '../../src/index.ts'
import { type Provider, ProviderError } from '../../src/sign-in/provider.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { build } from '../support/providers/configured.ts'
import { type StandIn, startStandIn } from '../support/providers/stand-in.ts'

const now = 1_900_000_000
const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const otherTenant = '11111111-2222-4333-8444-555555555555'
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'

let server: StandIn
let keys: JWK[]
let issuer: string
let idToken: string
let clock: ManualClock

before(async () => {
  server = await startStandIn({
    'GET /keys': () => ({ json: { keys } }),
    'POST /token': () => ({ json: { access_token: 'a', token_type: 'Bearer', id_token: idToken } }),
  })
})
after(() => server.close())

beforeEach(() => {
  server.answers.clear()
  clock = new ManualClock(now * 1000)
})

/** A provider that is configured with one issuer, and says another one. */
function providerAt(configured: string, says: string, algorithm?: string): Provider {
  issuer = says
  server.answers.set(
    `${new URL(configured).pathname.replace(/\/$/, '')}/.well-known/openid-configuration`,
    (_, response) =>
      response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          issuer: says,
          authorization_endpoint: `${server.url}/auth`,
          token_endpoint: `${server.url}/token`,
          jwks_uri: `${server.url}/keys`,
          id_token_signing_alg_values_supported: ['RS256'],
        }),
      ),
  )
  const settings = { name: 'acme', issuer: configured, clientId: 'notes', clientSecret: 'x' }
  return build([openid({ ...settings, ...(algorithm === undefined ? {} : { algorithm }) })], { now: clock.now }).one()
}

type Claims = Readonly<Record<string, unknown>>

async function signer(algorithm: string, kid?: string): Promise<(claims: Claims) => Promise<string>> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  keys.push({ ...(await exportJWK(publicKey)), ...(kid === undefined ? {} : { kid }) })
  return async (claims) =>
    new SignJWT({ iss: issuer, aud: 'notes', sub: '1042', iat: now, exp: now + 3600, nonce: 'n1', ...claims })
      .setProtectedHeader({ alg: algorithm, ...(kid === undefined ? {} : { kid }) })
      .sign(privateKey)
}

async function accepts(provider: Provider, as = 'acme:1042'): Promise<void> {
  assert.equal((await provider.exchange({ code: 'c', codeVerifier: 'v', nonce: 'n1' })).stableId, as)
}

async function refuses(provider: Provider, why: RegExp): Promise<void> {
  await assert.rejects(
    provider.exchange({ code: 'c', codeVerifier: 'v', nonce: 'n1' }),
    (error) => error instanceof ProviderError && why.test(error.message),
  )
}

describe('an id_token of a sign-in', () => {
  let provider: Provider
  let sign: (claims: Claims) => Promise<string>
  before(async () => {
    keys = []
    sign = await signer('RS256', 'k1')
  })
  beforeEach(() => {
    provider = providerAt(server.url, server.url)
  })

  // ZITADEL lists the project and every application of it.
  for (const claims of [
    { aud: ['notes', 'project-7'], azp: 'notes' },
    { aud: ['project-7', 'other', 'notes'], azp: 'notes' },
    // Keycloak sends azp beside one audience.
    { aud: 'notes', azp: 'notes' },
    { aud: ['notes'] },
  ]) {
    it(`is accepted with ${JSON.stringify(claims)} (IDP-28)`, async () => {
      idToken = await sign(claims)
      await accepts(provider)
    })
  }

  for (const claims of [
    { aud: ['notes', 'other'] },
    { aud: ['notes', 'other'], azp: 'other' },
    { aud: ['notes', 'other'], azp: ['notes'] },
    { aud: ['notes', 'other'], azp: '' },
    { aud: ['project-7', 'other'], azp: 'notes' },
    { aud: 'notes', azp: 'other' },
    { aud: 'other', azp: 'notes' },
    { aud: [], azp: 'notes' },
  ]) {
    it(`is refused with ${JSON.stringify(claims)} (IDP-28)`, async () => {
      idToken = await sign(claims)
      await refuses(provider, /azp|aud/)
    })
  }

  it('may lack the id of its key where the provider has one key, also after that key has changed (IDP-28)', async () => {
    keys = []
    const first = await signer('ES256')
    idToken = await first({})
    await accepts(provider)
    keys = []
    const second = await signer('ES256')
    idToken = await second({})
    clock.pass(60_000)
    await accepts(provider)
    idToken = await first({})
    clock.pass(60_000)
    await refuses(provider, /signature/)
    await signer('RS256', 'k9')
    keys.push({ kty: 'oct', k: 'AQAB' })
    idToken = await second({})
    await refuses(providerAt(server.url, server.url), /several keys/)
  })

  for (const algorithm of ['ES256', 'EdDSA', 'PS256', 'ES384']) {
    it(`is accepted with ${algorithm}, although discovery says RS256, unless another algorithm is configured (IDP-28)`, async () => {
      keys = []
      idToken = await (await signer(algorithm, 'k1'))({})
      await accepts(providerAt(server.url, server.url))
      await accepts(providerAt(server.url, server.url, algorithm))
      await refuses(providerAt(server.url, server.url, algorithm === 'ES384' ? 'ES256' : 'ES384'), /alg/)
    })
  }
})

describe('a provider with an issuer for each tenant', () => {
  for (const [kind, accepted, refused] of [
    ['common', [tenant, otherTenant, personal], []],
    ['organizations', [tenant, otherTenant], [personal]],
    ['consumers', [personal], [tenant]],
  ] as const) {
    it(`is Microsoft Entra at ${kind}: tid fills the issuer, and the subject counts for its tenant alone (IDP-29)`, async () => {
      keys = []
      const sign = await signer('RS256', 'k1')
      const provider = providerAt(`${server.url}/${kind}/v2.0`, `${server.url}/{tenantid}/v2.0`)
      const at = (tid: string): string => `${server.url}/${tid}/v2.0`
      for (const tid of accepted) {
        idToken = await sign({ iss: at(tid), tid })
        await accepts(provider, `acme:${tid}:1042`)
      }
      for (const claims of [
        ...refused.map((tid) => ({ iss: at(tid), tid })),
        { iss: at(accepted[0]) },
        { iss: at(accepted[0]), tid: refused[0] ?? '00000000-0000-4000-8000-000000000000' },
        { iss: at('{tenantid}'), tid: '{tenantid}' },
        { iss: at(kind), tid: kind },
        { iss: at('evil/72f988bf'), tid: 'evil/72f988bf' },
        { iss: `https://evil.example/${accepted[0]}/v2.0`, tid: accepted[0] },
        { iss: `${at(accepted[0])}/`, tid: accepted[0] },
      ]) {
        idToken = await sign(claims)
        await refuses(provider, /issuer/)
      }
    })
  }

  it('is refused where one tenant is configured, in its metadata and in its tokens (IDP-29)', async () => {
    keys = []
    const sign = await signer('RS256', 'k1')
    const own = `${server.url}/${tenant}/v2.0`
    await refuses(providerAt(own, `${server.url}/{tenantid}/v2.0`), /Cannot use the issuer/)
    const provider = providerAt(own, own)
    idToken = await sign({ tid: tenant })
    await accepts(provider)
    idToken = await sign({ iss: `${server.url}/${otherTenant}/v2.0`, tid: otherTenant })
    await refuses(provider, /issuer/)
  })
})

describe('a provider whose issuer differs from the configured one', () => {
  it('is refused with one sentence that names both, also for a slash (IDP-30)', async () => {
    for (const [configured, says] of [
      ['/realm', '/realm/'],
      ['/realm/', '/realm'],
      ['/realm', '/other'],
    ] as const) {
      const [one, two] = [`${server.url}${configured}`, `${server.url}${says}`]
      await assert.rejects(providerAt(one, two).authorizationUrl({ state: 's', nonce: 'n', codeChallenge: null }), {
        message: `Cannot use the issuer ${one}: the provider says that its issuer is ${two}. Set exactly that address.`,
      })
    }
    keys = []
    const sign = await signer('RS256', 'k1')
    idToken = await sign({ iss: `${server.url}/realm/` })
    await refuses(
      providerAt(`${server.url}/realm`, `${server.url}/realm`),
      /its issuer is .*\/realm\/, and the provider says .*\/realm$/,
    )
  })
})
